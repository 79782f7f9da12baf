"""Explanation methods: saliency maps, concept attributions and concept discovery."""

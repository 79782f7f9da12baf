"""Store evidence in a bucket, audit it there, and copy it (needs theodolite[store]).

The S3 server runs in this process. Set `AWS_ENDPOINT_URL` and the usual keys to use another.
"""

import logging
import os
import tempfile
from pathlib import Path

import boto3  # type: ignore[import-untyped]
import numpy as np
from moto.server import ThreadedMotoServer

import theodolite

logging.getLogger("werkzeug").setLevel(logging.ERROR)
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
os.environ |= {
    "AWS_ENDPOINT_URL": "http://127.0.0.1:{1}".format(*server.get_host_and_port()),
    "AWS_ACCESS_KEY_ID": "someone",
    "AWS_SECRET_ACCESS_KEY": "something",
    "AWS_DEFAULT_REGION": "us-east-1",
}
boto3.client("s3").create_bucket(Bucket="bucket")

# Concept values that follow the truth: an audit must find that the concepts exist.
random = np.random.default_rng(0)
truth = random.random((640, 3)) < 0.5
values = truth + random.normal(scale=0.4, size=truth.shape)
evidence = {"values": values, "truth": truth, "labels": truth.argmax(axis=1)}

first = theodolite.store(evidence, "s3://bucket/first", rows=64)
files = boto3.client("s3").list_objects_v2(Bucket="bucket", Prefix="first/")["KeyCount"]
print(f"{first.samples} samples in {first.pieces} shards, {files} files")
assert files <= first.pieces + 2, "a file for each shard, a manifest and a header"

# Read it from the bucket and write it elsewhere, in other shards and back: the same digest.
folder = Path(tempfile.mkdtemp())
theodolite.store("s3://bucket/first", f"file://{folder}/other", rows=160)
again = theodolite.store(f"file://{folder}/other", "s3://bucket/again", rows=64)
assert again.digest == first.digest

# Audit both where they are. Every score is the same.
audits = [
    theodolite.audit(place, resamples=50) for place in ("s3://bucket/first", f"{folder}/other")
]
for result in audits:
    (exists,) = [verdict for verdict in result.verdicts if verdict.question == "exists"]
    print(exists.answer, exists.summary)
    assert exists.answer == "yes"
server.stop()

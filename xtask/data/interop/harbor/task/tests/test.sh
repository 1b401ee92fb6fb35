#!/bin/sh
if [ "$(sh /app/greet.sh)" = "Hello, world!" ]; then echo 1; else echo 0; fi >/logs/verifier/reward.txt

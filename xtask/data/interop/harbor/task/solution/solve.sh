#!/bin/sh
echo 'echo "Hello, world!"' >/app/greet.sh

#!/bin/sh
# Makes what deploy/compose/config.yaml names: topics, subscriptions and the table. Safe to run again.
set -eu

put() {
  status=$(curl -s -o /dev/null -w '%{http_code}' -X PUT -H 'Content-Type: application/json' -d "$2" "http://pubsub:8085/v1/$1")
  case "$status" in 200 | 409) ;; *) echo "PUT $1: HTTP $status" >&2; exit 1 ;; esac
}

put projects/local/topics/orders '{}'
put projects/local/topics/orders-dead '{}'
put projects/local/subscriptions/orders-bigquery '{"topic":"projects/local/topics/orders"}'
put projects/local/subscriptions/orders-dead-letters '{"topic":"projects/local/topics/orders-dead"}'

# goccy's emulator has no health check: try until it answers.
table='{"tableReference":{"projectId":"local","datasetId":"sales","tableId":"orders"},"schema":{"fields":[
  {"name":"id","type":"INTEGER","mode":"REQUIRED"},
  {"name":"customer","type":"STRING"},
  {"name":"total","type":"NUMERIC"},
  {"name":"at","type":"TIMESTAMP"}]}}'
tries=0
until status=$(curl -s -o /dev/null -w '%{http_code}' -X POST -H 'Content-Type: application/json' -d "$table" \
  http://bigquery:9050/bigquery/v2/projects/local/datasets/sales/tables); [ "$status" = 200 ] || [ "$status" = 409 ]; do
  tries=$((tries + 1))
  [ "$tries" -lt 60 ] || { echo "POST tables: HTTP $status" >&2; exit 1; }
  sleep 1
done
echo "ready: publish to projects/local/topics/orders"

#!/bin/sh
# Makes what deploy/compose/config.yaml names: topics, subscriptions and the table. Safe to run again.
set -eu
pubsub=${PUBSUB:-http://pubsub:8085}
bigquery=${BIGQUERY:-http://bigquery:9050}
storage=${BIGQUERY_STORAGE:-http://bigquery:9060}

put() {
  status=$(curl -s -o /dev/null -w '%{http_code}' -X PUT -H 'Content-Type: application/json' -d "$2" "$pubsub/v1/$1")
  case "$status" in 200 | 409) ;; *) echo "PUT $1: HTTP $status" >&2; exit 1 ;; esac
}

put projects/local/topics/orders '{}'
put projects/local/topics/orders-dead '{}'
put projects/local/subscriptions/orders-bigquery '{"topic":"projects/local/topics/orders"}'
put projects/local/subscriptions/orders-dead-letters '{"topic":"projects/local/topics/orders-dead"}'

# goccy's emulator has no health check, and no status of its own for a table that is there already: look, and try, until
# it is there. It reads NUMERIC of the Storage Write API as 0; hence FLOAT64.
tables=$bigquery/bigquery/v2/projects/local/datasets/sales/tables
table='{"tableReference":{"projectId":"local","datasetId":"sales","tableId":"orders"},"schema":{"fields":[
  {"name":"id","type":"INTEGER","mode":"REQUIRED"},
  {"name":"customer","type":"STRING"},
  {"name":"total","type":"FLOAT64"},
  {"name":"at","type":"TIMESTAMP"}]}}'
tries=0 status=
until curl -sf -o /dev/null "$tables/orders"; do
  tries=$((tries + 1))
  [ "$tries" -lt 60 ] || { echo "the table cannot be made: $status" >&2; exit 1; }
  status=$(curl -s -X POST -H 'Content-Type: application/json' -d "$table" "$tables") || sleep 1
done

# BigQuery has a default stream for every table; goccy's emulator only once somebody has asked for it (and its Write API
# hangs for good after an append to a stream that it does not know). The request is one gRPC frame: five bytes, then
# field 1, then sixty bytes of name.
{
  printf '\000\000\000\000\076\012\074'
  printf 'projects/local/datasets/sales/tables/orders/streams/_default'
} | curl -s -m 10 -o /dev/null -D - --http2-prior-knowledge -H 'Content-Type: application/grpc' -H 'TE: trailers' --data-binary @- \
  "$storage/google.cloud.bigquery.storage.v1.BigQueryWrite/GetWriteStream" | grep -q 'grpc-status: 0' ||
  { echo "the default stream of the table cannot be opened" >&2; exit 1; }
echo "ready: publish to projects/local/topics/orders"

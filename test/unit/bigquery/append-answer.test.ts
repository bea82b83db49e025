import { expect, test } from "vitest";
import { readAnswer, readStorageError } from "../../../src/bigquery/append-answer.ts";
import { storageProtos } from "../../../src/lib/protos.ts";
import { answerBytes } from "../../support/fake-append-service.ts";

const plain = { code: 0, message: "", storageError: 0, rowErrors: [], schemaUpdated: false };

test("rows are stored", () => {
  expect(readAnswer(answerBytes({}))).toEqual(plain);
  const type = storageProtos().lookupType("google.cloud.bigquery.storage.v1.AppendRowsResponse");
  const full = type.fromObject({ appendResult: { offset: { value: 7 } }, writeStream: "projects/p" });
  expect(readAnswer(type.encode(full).finish())).toEqual(plain);
});

test("a status with a storage error among its details", () => {
  const bytes = answerBytes({ error: { code: 3, message: "extra fields", storageError: 7 } });
  expect(readAnswer(bytes)).toEqual({ ...plain, code: 3, message: "extra fields", storageError: 7 });
});

test("details of another kind are no storage error", () => {
  const type = storageProtos().lookupType("google.cloud.bigquery.storage.v1.AppendRowsResponse");
  const details = [{ type_url: "type.googleapis.com/google.rpc.ErrorInfo", value: Buffer.from([8, 7]) }];
  const bytes = type.encode(type.fromObject({ error: { code: 5, message: "m", details } })).finish();
  expect(readAnswer(bytes)).toEqual({ ...plain, code: 5, message: "m" });
});

test("row errors; index 0 is left out on the wire", () => {
  const rowErrors = [
    { index: 0, message: "first" },
    { index: 300, message: "später" },
  ];
  const bytes = answerBytes({ error: { code: 3, message: "rows" }, rowErrors });
  expect(readAnswer(bytes)).toEqual({ ...plain, code: 3, message: "rows", rowErrors });
});

test("an updated schema", () => {
  const updatedSchema = { fields: [{ name: "a", type: "STRING", mode: "NULLABLE" }] };
  expect(readAnswer(answerBytes({ updatedSchema }))).toEqual({ ...plain, schemaUpdated: true });
});

test("a storage error alone, as the trailer holds it", () => {
  const type = storageProtos().lookupType("google.cloud.bigquery.storage.v1.StorageError");
  const bytes = type.encode(type.fromObject({ code: 14, entity: "e", errorMessage: "m" })).finish();
  expect(readStorageError(bytes)).toBe(14);
});

test("bytes that are no message throw", () => {
  expect(() => readAnswer(Buffer.from([0x12, 0xff]))).toThrow(RangeError);
});

/** Acknowledge and ModifyAckDeadline, whose requests and responses are bytes. */
import type { Fault } from "../faults.ts";
import { invalidArgument } from "../rpc-error.ts";
import { ackFailureError, type AckFailure, type SentAckIds } from "./ack-failures.ts";
import type { Broker } from "./broker.ts";
import { readAcknowledgeRequest, readModifyAckDeadlineRequest, type Ranges } from "./subscriber-requests.ts";
import type { ScriptedAckFailure, Subscription } from "./subscription.ts";
import { checkModifyDeadline } from "./subscription-settings.ts";

const maxRequestBytes = 512 * 1024;
const empty = Buffer.alloc(0);

/** @throws RpcError with the IDs that had no effect, where exactly-once delivery or a fault tells of them */
export function acknowledge(broker: Broker, bytes: Buffer, fault: Fault | undefined): Buffer {
  checkSize(bytes);
  const request = readAcknowledgeRequest(bytes);
  const subscription = broker.attachedSubscription(request.subscription);
  const numbers = readAckNumbers(subscription, { bytes, ranges: request.ackIds });
  return answer(bytes, request.ackIds, subscription.acknowledge(numbers, scriptedAckFailures(fault)));
}

/** @throws RpcError as `acknowledge` */
export function modifyAckDeadline(broker: Broker, bytes: Buffer, fault: Fault | undefined): Buffer {
  checkSize(bytes);
  const request = readModifyAckDeadlineRequest(bytes);
  const subscription = broker.attachedSubscription(request.subscription);
  checkModifyDeadline(request.ackDeadlineSeconds);
  const numbers = readAckNumbers(subscription, { bytes, ranges: request.ackIds });
  const failures = subscription.modifyDeadlines(numbers, request.ackDeadlineSeconds, scriptedAckFailures(fault));
  return answer(bytes, request.ackIds, failures);
}

/**
 * The numbers in the IDs of a request. With exactly-once delivery an ID that is none of the subscription's fails alone;
 * without, the request fails.
 *
 * @throws RpcError INVALID_ARGUMENT
 */
export function ackNumbersOf({ ackIds, settings }: Subscription, { bytes, ranges }: SentAckIds): number[] {
  const never = 0;
  return ackIds.readAll(bytes, ranges, settings.exactlyOnce ? never : undefined);
}

/** Which IDs of a request a fault lets fail. */
export function scriptedAckFailures(fault: Fault | undefined): ScriptedAckFailure | undefined {
  const scripted = fault?.ackErrors;
  return scripted && ((i) => ((i + 1) % (scripted.every ?? 1) === 0 ? scripted.code : undefined));
}

function readAckNumbers(subscription: Subscription, ids: SentAckIds): number[] {
  if (ids.ranges.length === 0) throw invalidArgument("The request has no ack IDs");
  return ackNumbersOf(subscription, ids);
}

function answer(bytes: Buffer, ranges: Ranges, failures: readonly AckFailure[]): Buffer {
  if (failures.length > 0) throw ackFailureError({ bytes, ranges }, failures);
  return empty;
}

function checkSize(bytes: Buffer): void {
  if (bytes.length <= maxRequestBytes) return;
  throw invalidArgument(`Request payload size exceeds the limit: ${maxRequestBytes} bytes (it has ${bytes.length})`);
}

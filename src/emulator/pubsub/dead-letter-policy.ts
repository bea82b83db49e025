/** What a message becomes when it is forwarded to the dead-letter topic. */
import { parseResourceName } from "./resource-name.ts";
import { decodeMessage, type StoredMessage } from "./stored-message.ts";
import { encodeContent, type MessageContent } from "./message-content.ts";

/**
 * The message as it was, with the attributes that say where it came from. The time has the form of the real service
 * (`…+00:00`), which Google's emulator does not have.
 *
 * @param attempts how often it was delivered in vain
 */
export function deadLetterContent(message: StoredMessage, attempts: number, subscription: string): MessageContent {
  const { project, id } = parseResourceName("subscriptions", subscription);
  const { data, attributes, orderingKey, publishTimeMs } = decodeMessage(message);
  return encodeContent({
    data,
    orderingKey,
    attributes: {
      ...attributes,
      CloudPubSubDeadLetterSourceDeliveryCount: String(attempts),
      CloudPubSubDeadLetterSourceSubscription: id,
      CloudPubSubDeadLetterSourceSubscriptionProject: project,
      CloudPubSubDeadLetterSourceTopicPublishTime: new Date(publishTimeMs).toISOString().replace("Z", "+00:00"),
    },
  });
}

/** The sources of webhooks. CONTRIBUTING.md describes how to add a source. */

import { github } from './github.ts';
import { hmac } from './hmac.ts';
import { slack } from './slack.ts';
import type { Source, SourceName } from './source.ts';
import { standard } from './standard.ts';
import { stripe } from './stripe.ts';

export { commentMark } from './reply.ts';
export { assertSigned, type Verified, verify } from './signature.ts';
export { type RawDelivery, type SourceName, signatureHeaders, sourceNames, type WebhookEvent } from './source.ts';

export const sources: Readonly<Record<SourceName, Source>> = { standard, github, stripe, slack, hmac };

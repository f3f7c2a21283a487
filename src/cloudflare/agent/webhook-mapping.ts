import * as v from 'valibot';
import type { MessagePart } from '../../core/chat/index.ts';
import { maxWebhookBody } from '../wire/limits.ts';
import type { Attachment } from '../wire/message.ts';
import type { SourceName, WebhookEvent } from '../wire/protocols/webhooks/index.ts';

/** The first message of a run, and its session. */
export interface WebhookMessage {
	readonly text?: string;
	readonly parts?: readonly MessagePart[];
	/** Files (docs/api.md, "Messages"). */
	readonly attachments?: readonly Attachment[];
	/**
	 * The subject, such as `owner/repository#7`. All events of a subject share one session. Without a subject, each
	 * event has its own session. A repeated event must have the same subject, so that its session recognises it.
	 */
	readonly session?: string;
	/** Metadata for a new session. */
	readonly metadata?: Readonly<Record<string, string>>;
	/** The owner. `webhooks` by default, and `local` on a laptop. Derive it only from signed content. */
	readonly owner?: string;
	/** The person. Tools use this name to authorize calls (`context.user`). Derive it only from signed content. */
	readonly user?: string;
	/** The author's name, for display only: it authorizes nothing. The default is the source. */
	readonly sender?: string;
	/** The model from this run on. */
	readonly model?: string;
	/** What the message does during a run: it waits for the end of the run (the default), or joins the run. */
	readonly whenBusy?: 'queue' | 'steer';
	/** Whether the message can answer a tool's question. If not, it waits until the question is answered. */
	readonly answers?: boolean;
	/** An https URL that is called at the end of the run. */
	readonly callback?: string;
	/** The `response_url` of Slack for the answer, instead of a callback. `isPublic` shows the answer to all. */
	readonly responseUrl?: string;
	readonly isPublic?: boolean;
	/** The GitHub issue that gets the answer as a comment, instead of a callback. It needs `GITHUB_TOKEN`. */
	readonly comment?: { readonly repository: string; readonly issue: number } | undefined;
}

/**
 * Turns an event into a message, or ignores it (undefined). It decides who can talk to the agent. It should return
 * within a second, because the source waits. If it throws, the answer is `500`, and most sources send the event again.
 */
export type WebhookMapping = (event: WebhookEvent) => Mapped | Promise<Mapped>;

type Mapped = string | WebhookMessage | undefined;

/** A mapping with settings. */
export interface WebhookOptions {
	readonly map: WebhookMapping;
	/** The maximum number of bytes in a body. 1,000,000 by default. */
	readonly maxBytes?: number;
	/**
	 * What to do with a known body that has a new id, if its source signs neither id nor time (`github`, `hmac`).
	 * `once` (the default) ignores it for 30 days as a possible replay. `again` treats it as a new event.
	 */
	readonly sameBody?: 'once' | 'again';
}

/** The mappings by source. Webhooks of other sources get `not_found`. */
export type WebhookMappings = { readonly [S in SourceName]?: WebhookMapping | WebhookOptions };

const toMessage = v.custom<WebhookMapping>((entry) => typeof entry === 'function', 'must be a function of the event');

export const mappingSchema = v.optional(
	v.union(
		[
			toMessage,
			v.strictObject({
				map: toMessage,
				maxBytes: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(maxWebhookBody))),
				sameBody: v.optional(v.picklist(['once', 'again'])),
			}),
		],
		'must be a function of the event, or { map, maxBytes?, sameBody? }',
	),
);

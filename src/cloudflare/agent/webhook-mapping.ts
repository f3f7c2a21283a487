import * as v from 'valibot';
import type { MessagePart } from '../../core/chat/index.ts';
import type { Attachment } from '../wire/content.ts';
import { maxWebhookBody } from '../wire/limits.ts';
import type { SourceName, WebhookEvent } from '../wire/protocols/webhooks/index.ts';

/** What an agent makes of an event: the first message of a run, and the session that it belongs to. */
export interface WebhookMessage {
	readonly text?: string;
	readonly parts?: readonly MessagePart[];
	/** Files, as `attachments` of a message (docs/api.md, "Messages"). */
	readonly attachments?: readonly Attachment[];
	/**
	 * The subject, such as `owner/repository#7`. Events with one subject share a session; an event without one has its
	 * own. It must be the same each time for one event, because a repeat is recognised within its session.
	 */
	readonly session?: string;
	/** Stored with a session that it creates. */
	readonly metadata?: Readonly<Record<string, string>>;
	/**
	 * The tenant whose session it is. `webhooks` if it is missing, and `local` on a laptop. Choose it by what the source has
	 * signed.
	 */
	readonly owner?: string;
	/** The person in that tenant. Tools authorize by it (`context.user`), so choose it by what the source has signed. */
	readonly user?: string;
	/** The author's name for texts, which authorizes nothing. The source if it is missing. */
	readonly sender?: string;
	/** The model of this run and those after it. */
	readonly model?: string;
	/** While a run goes on: wait for its end (the default), or join it. */
	readonly whenBusy?: 'queue' | 'steer';
	/** Whether it may answer a question of a tool. If not, it waits until somebody answers. */
	readonly answers?: boolean;
	/** An https URL that gets the end of the run. */
	readonly callback?: string;
	/**
	 * The `response_url` of Slack that gets the answer instead of a callback. `isPublic` shows it to the whole channel.
	 */
	readonly responseUrl?: string;
	readonly isPublic?: boolean;
	/** The GitHub issue that gets the answer as a comment instead of a callback, if `GITHUB_TOKEN` is set. */
	readonly comment?: { readonly repository: string; readonly issue: number } | undefined;
}

/**
 * Turns an event into a message, or into nothing. It decides who may talk to the agent, so ignore what is not meant for
 * it. The source waits for it, so be quick: a second is long. If it throws, the delivery fails with `500`, and most
 * sources send it again.
 */
export type WebhookMapping = (event: WebhookEvent) => Mapped | Promise<Mapped>;

type Mapped = string | WebhookMessage | undefined;

/** A mapping, with further settings for its source. */
export interface WebhookOptions {
	readonly map: WebhookMapping;
	/** The most bytes of a body. 1,000,000 if it is missing. */
	readonly maxBytes?: number;
	/**
	 * How to treat a body that came before under another id, for sources that sign neither id nor time (`github`,
	 * `hmac`). `once` (the default) ignores it for 30 days, because somebody may have caught it. `again` takes it as a
	 * new event.
	 */
	readonly sameBody?: 'once' | 'again';
}

/** An agent's mappings by source. It takes nothing from a source without one. */
export type WebhookMappings = { readonly [S in SourceName]?: WebhookMapping | WebhookOptions };

const toMessage = v.custom<WebhookMapping>((entry) => typeof entry === 'function', 'must be a function of the event');

/** What an agent may give for a source. */
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

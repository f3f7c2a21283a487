import type { MessagePart } from '../../core/chat/index.ts';
import type { Attachment } from '../wire/attachment.ts';
import type { SourceName, WebhookEvent } from './source.ts';

/** What an agent makes of an event: the message that its run begins with, and where that belongs. */
export interface WebhookMessage {
	readonly text?: string;
	readonly parts?: readonly MessagePart[];
	/** Files, as `attachments` of a message (README, "The API"). */
	readonly attachments?: readonly Attachment[];
	/** What it is about, such as `owner/repository#7`: events of one key share a session; without it each has its own. The same each time for the same event: a repeat is known in its session. */
	readonly session?: string;
	/** Kept with a session that it creates. */
	readonly metadata?: Readonly<Record<string, string>>;
	/** Who wrote it, as skills and tools are told; the source, if nobody says. */
	readonly sender?: string;
	/** The model of this run and those after it. */
	readonly model?: string;
	/** Where a run of the session goes on: wait for its end (the default), or be taken up by it. */
	readonly whenBusy?: 'queue' | 'steer';
	/** Whether it may be the answer to what a tool has asked the person; else it waits until somebody has answered. */
	readonly answers?: boolean;
	/** An https URL that is told how the run ended. */
	readonly callback?: string;
	/** The `response_url` of Slack that gets the answer, instead of a callback; `isPublic` shows it to the whole channel. */
	readonly responseUrl?: string;
	readonly isPublic?: boolean;
	/** The issue of GitHub that gets the answer as a comment, instead of a callback, where `GITHUB_TOKEN` is set. */
	readonly comment?: { readonly repository: string; readonly issue: number } | undefined;
}

/**
 * What is to be done about an event: nothing, or a message. It decides who may talk to the agent, so ignore what is not
 * meant for it. A source waits for it: a second is long. One that throws fails the delivery with a `500`, and most
 * sources send that again.
 */
export type WebhookMapping = (event: WebhookEvent) => Mapped | Promise<Mapped>;

type Mapped = string | WebhookMessage | undefined;

/** A mapping, with what else holds for deliveries of its source. */
export interface WebhookOptions {
	readonly map: WebhookMapping;
	/** Bytes of a body; 1,000,000. */
	readonly maxBytes?: number;
	/**
	 * What a body is that came before, under another id, from a source that signs neither id nor time (`github`, `hmac`):
	 * nothing new for 30 days, as somebody may have caught it (`once`, the default), or another event (`again`).
	 */
	readonly sameBody?: 'once' | 'again';
}

/** An agent's mappings, by source; from a source without one it takes nothing. */
export type WebhookMappings = { readonly [S in SourceName]?: WebhookMapping | WebhookOptions };

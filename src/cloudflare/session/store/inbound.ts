import type { Actor } from '../../../core/base/actor.ts';
import { fromBase64 } from '../../../core/base/bytes.ts';
import { type Message, type MessagePart, textPart, type UserMessage, userMessage } from '../../../core/chat/index.ts';
import type { Label } from '../../../core/tool/index.ts';
import { toActors } from '../../auth/rights.ts';
import type { Sql } from '../../objects/migrate.ts';
import type { Once } from '../../objects/once.ts';
import type { Input, RequestOrigin } from '../../objects/session-api.ts';
import { splitRows } from '../../objects/storage.ts';
import type { Attachment } from '../../wire/message.ts';
import type { CachingSql } from './tables.ts';

/** The origin of a message from outside, and its attachments. */
export interface Inbound extends RequestOrigin {
	readonly sender: string;
	readonly transport: string;
	/** The sender. A child session has no actor of its own. */
	readonly by?: Actor;
	/** The first senders of a forwarded message, the newest last. */
	readonly askers?: readonly Actor[];
	readonly attachments?: readonly StoredAttachment[];
	/** What flowed into a message of another agent (docs/untrusted-text.md). */
	readonly labels?: readonly Label[];
	readonly messageId?: string;
}

type Whose = Pick<Actor, 'owner' | 'user'>;

interface Origin extends RequestOrigin {
	readonly from?: Actor;
}

export function toInbound(received: Input, session: Whose, { from, requestId, caller }: Origin = {}) {
	const { sender, askers = [], transport = 'http', messageId, labels, ...input } = received;
	const { message, attachments } = withAttachments(input, input.attachments);
	const by = from && toSpeaker(from, session);
	const { user, owner } = askers.at(-1) ?? by ?? session;
	const inbound: Inbound = {
		sender: sender ?? user ?? owner,
		transport,
		...(by !== undefined && { by }),
		...(askers.length > 0 && { askers }),
		...(attachments.length > 0 && { attachments }),
		...(labels !== undefined && { labels }),
		...(messageId !== undefined && { messageId }),
		...(requestId !== undefined && { requestId }),
		...(caller !== undefined && { caller }),
	};
	return { message, inbound };
}

/** If a key has no user, its actor gets the session's user: a server with the key acts for that user. */
export function toSpeaker(by: Actor, { owner, user }: Whose): Actor {
	const speaksForUser =
		by.user === undefined && user !== undefined && by.owner === owner && (by.via === 'key' || by.via === 'mcp');
	return speaksForUser ? { ...by, user, madeBy: by } : by;
}

/** Returns the people who asked for a message: its sender, or the first senders of a forwarded message. */
export function toAskers({ sender, by, askers }: Inbound, owner: string): readonly Actor[] {
	if (askers !== undefined) return toActors(askers);
	return by === undefined ? [{ owner, via: 'webhook', id: sender }] : toActors([by]);
}

/** Joins the origins of two answers to one call. The askers of the earlier answer remain askers. */
export function joinInbound(before: Inbound | undefined, { attachments: _, ...inbound }: Inbound): Inbound {
	const list = ({ by, askers = by === undefined ? [] : [by] }: Inbound) => askers;
	return before === undefined ? inbound : { ...inbound, askers: [...list(before), ...list(inbound)] };
}

type InboundFacts = Pick<Inbound, 'sender' | 'transport'> & {
	readonly attachments: readonly Attachment[];
};

/** The facts of the newest message from outside, for tools and skills. */
export class InboundContext {
	#current: InboundFacts;
	#askedBy: Actor | undefined;
	readonly #owner: string;

	constructor(records: readonly { readonly message: Message; readonly inbound?: Inbound }[], session: Whose) {
		this.#owner = session.owner;
		this.#current = { sender: session.user ?? session.owner, transport: 'http', attachments: [] };
		const newest = records.findLast(({ inbound }) => inbound !== undefined);
		if (newest !== undefined) this.accept(newest.message, newest.inbound);
	}

	get current(): InboundFacts {
		return this.#current;
	}

	get askedBy(): Actor | undefined {
		return this.#askedBy;
	}

	accept(message: Message, inbound: Inbound | undefined): void {
		if (inbound === undefined) return;
		const { sender, transport, attachments } = inbound;
		this.#askedBy = toAskers(inbound, this.#owner).at(-1);
		const parts = 'parts' in message ? message.parts : undefined;
		this.#current = { sender, transport, attachments: readAttachments(parts, attachments) };
	}
}

/** A stored attachment. Its content is in a part of the message. */
export interface StoredAttachment extends Pick<Attachment, 'name' | 'type' | 'size'> {
	readonly part: number;
	readonly text?: readonly [from: number, to: number];
}

export interface WithAttachments {
	readonly message: UserMessage;
	readonly attachments: readonly StoredAttachment[];
}

/**
 * Creates a message with its attachments at the end. A text is in a fence that names the file, and that the text
 * cannot close. An image is sent as an image, and any other attachment as a file.
 */
export function withAttachments(
	{ text, parts }: { readonly text?: string; readonly parts?: readonly MessagePart[] },
	attachments: readonly Attachment[] = [],
): WithAttachments {
	if (attachments.length === 0) return { message: userMessage(parts ?? text ?? ''), attachments: [] };
	const own = parts ?? (text === undefined ? [] : [textPart(text)]);
	const woven = attachments.map((attachment, index) => weave(attachment, own.length + index));
	return {
		message: userMessage([...own, ...woven.map(({ part }) => part)]),
		attachments: woven.map(({ stored }) => stored),
	};
}

export function readAttachments(
	parts: readonly MessagePart[] = [],
	stored: readonly StoredAttachment[] = [],
): readonly Attachment[] {
	return stored.map(({ part, text, ...about }) => {
		const { text: framed = '', data, url } = parts[part] ?? {};
		if (text !== undefined) return { ...about, contentText: framed.slice(...text) };
		return data === undefined ? { ...about, contentUrl: url } : { ...about, contentBase64: data };
	});
}

function weave(
	{ name, type, size, contentText, contentBase64: data, contentUrl: url }: Attachment,
	at: number,
): { readonly part: MessagePart; readonly stored: StoredAttachment } {
	const about = { name, type, size, part: at };
	const content = contentText ?? (isText(type) && data !== undefined ? decodeText(data) : undefined);
	if (content === undefined) {
		const carried = data === undefined ? { url } : { data };
		return { part: { kind: chooseKind(type), mime: type, name, ...carried }, stored: about };
	}
	const fence = '`'.repeat(Math.max(3, 1 + longestFence(content)));
	const head = `Attached file ${JSON.stringify(name)} (${type}, ${size} bytes):\n${fence}\n`;
	return {
		part: textPart(`${head}${content}\n${fence}`),
		stored: { ...about, text: [head.length, head.length + content.length] },
	};
}

function longestFence(text: string): number {
	let longest = 0;
	for (const [run] of text.matchAll(/`+/g)) longest = Math.max(longest, run.length);
	return longest;
}

function chooseKind(type: string): 'image' | 'audio' | 'file' {
	const [kind] = type.toLowerCase().split('/');
	return kind === 'image' || kind === 'audio' ? kind : 'file';
}

/** Whether a media type is text. SVG is text, because no model takes it as an image. */
function isText(type: string): boolean {
	return /^text\/|^application\/(json|xml|yaml|x-yaml|toml|javascript|sql|x-ndjson)$|\+(json|xml|yaml)$/i.test(type);
}

/** Decodes base64 as UTF-8. Returns nothing for other bytes. */
function decodeText(data: string): string | undefined {
	try {
		return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(fromBase64(data));
	} catch {
		return undefined;
	}
}

/** How long a webhook and a request with an `Idempotency-Key` are remembered, in milliseconds. */
const keptMs = 30 * 86_400_000;
const resentMs = 86_400_000;

/** The outcome of a request: a run, a queued message, or neither. */
export interface Outcome {
	readonly run?: number;
	/** The queue id of the message. */
	readonly waiting?: number;
}

interface Delivery extends Outcome {
	readonly request: string;
}

/** The accepted webhooks and requests with an `Idempotency-Key`. */
export class DeliveryRows {
	readonly #sql: Sql;
	#isPruned = false;

	constructor(sql: Sql) {
		this.#sql = sql;
	}

	add({ key, request, body }: Once, { run, waiting }: Outcome, createdAt: number): void {
		this.#prune(createdAt);
		this.#sql.exec(
			`INSERT INTO delivery (key, request, run, waiting, created_at, body) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT (key) DO UPDATE SET
				request = excluded.request, run = excluded.run, waiting = excluded.waiting, created_at = excluded.created_at`,
			...[key, request, run ?? null, waiting ?? null, createdAt, body ?? null],
		);
	}

	/** Finds an earlier request with this key or this body. */
	find({ key, body }: Pick<Once, 'key' | 'body'>, now: number): Delivery | undefined {
		const byKey = this.#read('key = ?', key);
		return byKey ?? (body === undefined ? undefined : this.#read('body = ? AND created_at > ?', body, now - keptMs));
	}

	#read(where: string, ...values: (string | number)[]): Delivery | undefined {
		type Row = { request: string; run: number | null; waiting: number | null };
		const query = `SELECT request, run, waiting FROM delivery WHERE ${where} LIMIT 1`;
		const [row] = this.#sql.exec<Row>(query, ...values).toArray();
		return row && { request: row.request, run: row.run ?? undefined, waiting: row.waiting ?? undefined };
	}

	endWaiting(key: string, run: number | undefined): void {
		this.#sql.exec('UPDATE delivery SET run = ?, waiting = NULL WHERE key = ?', run ?? null, key);
	}

	#prune(now: number): void {
		if (this.#isPruned) return;
		this.#isPruned = true;
		this.#sql.exec(
			"DELETE FROM delivery WHERE key >= 'webhook ' AND key < 'webhook!' AND created_at < ? AND waiting IS NULL",
			now - keptMs,
		);
		this.#sql.exec(
			"DELETE FROM delivery WHERE key >= 'resent ' AND key < 'resent!' AND created_at < ? AND waiting IS NULL",
			now - resentMs,
		);
	}
}

export interface QueuedMessage {
	readonly id: number;
	readonly runId: string;
	readonly message: Message;
	readonly inbound?: Inbound;
	readonly model?: string;
	readonly steers: boolean;
	readonly key?: string;
	readonly callback?: string;
}

/** The messages that wait for the current run, in order. A repeated request gets the run of its message. */
export class QueueRows {
	readonly #sql: CachingSql;
	readonly #deliveries: DeliveryRows;
	readonly #about: () => { readonly size: number; readonly at: number | null };

	constructor(sql: CachingSql, deliveries: DeliveryRows) {
		this.#sql = sql;
		this.#deliveries = deliveries;
		this.#about = sql.cached('queue', () =>
			sql
				.exec<{ size: number; at: number | null }>(
					'SELECT COUNT(DISTINCT id) AS size, MAX(created_at) AS at FROM queue',
				)
				.one(),
		);
	}

	add(
		{ inbound, ...waiting }: Omit<QueuedMessage, 'id' | 'key'> & { readonly inbound: Inbound },
		once: Once | undefined,
		createdAt: number,
	): QueuedMessage {
		const { last } = this.#sql.exec<{ last: number }>('SELECT COALESCE(MAX(id), 0) AS last FROM queue').one();
		const id = last + 1;
		if (once !== undefined) this.#deliveries.add(once, { waiting: id }, createdAt);
		// The message has this id on a page, both in the queue and in its run.
		const named = { messageId: waiting.runId, ...inbound };
		return this.#insert({ id, ...waiting, inbound: named, key: once?.key }, createdAt);
	}

	/** Replaces a message. Its position and its run stay the same. */
	edit(waiting: QueuedMessage, editedAt: number): void {
		this.#remove(waiting.id);
		this.#insert(waiting, editedAt);
	}

	first(): QueuedMessage | undefined {
		return this.#read('id = (SELECT MIN(id) FROM queue)')[0];
	}

	after(id: number): QueuedMessage | undefined {
		return this.#read('id = (SELECT MIN(id) FROM queue WHERE id > ?)', id)[0];
	}

	findNamed(id: string | undefined): QueuedMessage | undefined {
		return id === undefined ? undefined : this.#read('TRUE').find(({ inbound }) => inbound?.messageId === id);
	}

	get(id: number): QueuedMessage | undefined {
		return this.#read('id = ?', id)[0];
	}

	steering(): QueuedMessage[] {
		return this.#read('steers = 1');
	}

	all(): QueuedMessage[] {
		return this.#read('TRUE');
	}

	get size(): number {
		return this.#about().size;
	}

	newestAt(): number | undefined {
		return this.#about().at ?? undefined;
	}

	/** Takes a message out of the queue. Queue ids can be reused, so the request's row stores the run instead. */
	take({ id, key }: Pick<QueuedMessage, 'id' | 'key'>, run: number | undefined): void {
		this.#remove(id);
		if (key !== undefined) this.#deliveries.endWaiting(key, run);
	}

	#remove(id: number): void {
		this.#sql.write('queue', 'DELETE FROM queue WHERE id = ?', id);
	}

	#insert({ id, ...waiting }: QueuedMessage, createdAt: number): QueuedMessage {
		for (const [part, text] of splitRows(JSON.stringify(waiting)).entries())
			this.#sql.insert('queue', { id, part, steers: waiting.steers ? 1 : 0, body: text, created_at: createdAt });
		return { id, ...waiting };
	}

	#read(where: string, ...values: number[]): QueuedMessage[] {
		if (this.size === 0) return [];
		type Row = { id: number; body: string };
		const bodies = new Map<number, string>();
		for (const { id, body } of this.#sql.exec<Row>(
			`SELECT id, body FROM queue WHERE ${where} ORDER BY id, part`,
			...values,
		))
			bodies.set(id, (bodies.get(id) ?? '') + body);
		return [...bodies].map(([id, body]) => {
			const waiting: Omit<QueuedMessage, 'id'> = JSON.parse(body);
			return { id, ...waiting };
		});
	}
}

import type { Actor } from '../../../core/base/actor.ts';
import { fromBase64 } from '../../../core/base/bytes.ts';
import { type Message, type MessagePart, textPart, type UserMessage, userMessage } from '../../../core/chat/index.ts';
import { toActors } from '../../auth/actor.ts';
import type { Input } from '../../objects/session-api.ts';
import type { Attachment } from '../../wire/content.ts';

/** The origin of a message from outside, and its attachments. */
export interface Inbound {
	readonly sender: string;
	readonly transport: string;
	/** The sender. A child session has no actor of its own. */
	readonly by?: Actor;
	/** The first senders of a forwarded message, the newest last. */
	readonly askers?: readonly Actor[];
	readonly attachments?: readonly StoredAttachment[];
	readonly messageId?: string;
}

type Whose = Pick<Actor, 'owner' | 'user'>;

export function toInbound(received: Input, session: Whose, from?: Actor) {
	const { sender, askers = [], transport = 'http', messageId, ...input } = received;
	const { message, attachments } = withAttachments(input, input.attachments);
	const by = from && toSpeaker(from, session);
	const { user, owner } = askers.at(-1) ?? by ?? session;
	const inbound: Inbound = {
		sender: sender ?? user ?? owner,
		transport,
		...(by !== undefined && { by }),
		...(askers.length > 0 && { askers }),
		...(attachments.length > 0 && { attachments }),
		...(messageId !== undefined && { messageId }),
	};
	return { message, inbound };
}

/** Adds the user of the session to a key without a user: the server with that key speaks for its user. */
export function toSpeaker(by: Actor, { owner, user }: Whose): Actor {
	const speaksForUser =
		by.user === undefined && user !== undefined && by.owner === owner && (by.via === 'key' || by.via === 'mcp');
	return speaksForUser ? { ...by, user, madeBy: by } : by;
}

/** Returns who asked for a message: its sender, or the first senders of a forwarded message. */
export function toAskers({ sender, by, askers }: Inbound, owner: string): readonly Actor[] {
	if (askers !== undefined) return toActors(askers);
	return by === undefined ? [{ owner, via: 'webhook', id: sender }] : toActors([by]);
}

/** Joins the origins of two answers to one call. The askers of the earlier answer stay askers. */
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
 * Creates a message with its attachments at the end: a text in a fence that names the file and that the text cannot
 * close, an image as an image, anything else as a file.
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

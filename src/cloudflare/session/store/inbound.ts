import type { Actor } from '../../../core/base/actor.ts';
import { fromBase64 } from '../../../core/base/bytes.ts';
import { type Message, type MessagePart, textPart, type UserMessage, userMessage } from '../../../core/chat/index.ts';
import { toActors } from '../../auth/actor.ts';
import type { Input } from '../../objects/session-api.ts';
import type { Attachment } from '../../wire/content.ts';

/** Where a message came from, and what came with it. */
export interface Inbound {
	/** The name of the sender, for texts. */
	readonly sender: string;
	readonly transport: string;
	/** Who sent it. A child session has no actor of its own. */
	readonly by?: Actor;
	/** Those who asked for it, where whoever sent it only passes on what they began. The last one comes last. */
	readonly askers?: readonly Actor[];
	readonly attachments?: readonly StoredAttachment[];
	/** The sender's own id of the message. */
	readonly messageId?: string;
}

/** Whose session a message comes to. */
type Whose = Pick<Actor, 'owner' | 'user'>;

/** Turns a message from outside into a message of the history and its stored origin. */
export function toInbound(given: Input, session: Whose, from?: Actor) {
	const { sender, askers = [], transport = 'http', messageId, ...input } = given;
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

/** A key without a user speaks for the person of the session: its server has said who that is. */
export function toSpeaker(by: Actor, { owner, user }: Whose): Actor {
	const speaks =
		by.user === undefined && user !== undefined && by.owner === owner && (by.via === 'key' || by.via === 'mcp');
	return speaks ? { ...by, user, madeBy: by } : by;
}

/**
 * Returns who asked for a message: whoever sent it, or those behind it where that one only passes it on. A row of an earlier
 * version may say no more than the sender's name.
 */
export function toAskers({ sender, by, askers }: Inbound, owner: string): readonly Actor[] {
	if (askers !== undefined) return toActors(askers);
	return by === undefined ? [{ owner, via: 'webhook', id: sender }] : toActors([by]);
}

/** Returns where the text of an answer came from. Those who asked for an earlier one of the same call have asked for it, too. */
export function joinInbound(before: Inbound | undefined, { attachments: _, ...inbound }: Inbound): Inbound {
	const list = ({ by, askers = by === undefined ? [] : [by] }: Inbound) => askers;
	return before === undefined ? inbound : { ...inbound, askers: [...list(before), ...list(inbound)] };
}

/** The facts of a message from outside, for tools and skills. */
type InboundFacts = Pick<Inbound, 'sender' | 'transport'> & {
	/** With their contents. */
	readonly attachments: readonly Attachment[];
};

/** The facts of the newest message from outside, for tools and skills. */
export class InboundContext {
	#told: InboundFacts;
	#askedBy: Actor | undefined;
	readonly #owner: string;

	/** @param session whose it is: the sender of messages that were stored without one. */
	constructor(records: readonly { readonly message: Message; readonly inbound?: Inbound }[], session: Whose) {
		this.#owner = session.owner;
		this.#told = { sender: session.user ?? session.owner, transport: 'http', attachments: [] };
		const newest = records.findLast(({ inbound }) => inbound !== undefined);
		if (newest !== undefined) this.accept(newest.message, newest.inbound);
	}

	get current(): InboundFacts {
		return this.#told;
	}

	/** Who sent the newest message from outside, or asked for it. */
	get askedBy(): Actor | undefined {
		return this.#askedBy;
	}

	/** Takes a newer message, if it came from outside. */
	accept(message: Message, inbound: Inbound | undefined): void {
		if (inbound === undefined) return;
		const { sender, transport, attachments } = inbound;
		this.#askedBy = toAskers(inbound, this.#owner).at(-1);
		const parts = 'parts' in message ? message.parts : undefined;
		this.#told = { sender, transport, attachments: readAttachments(parts, attachments) };
	}
}

/** An attachment as it is stored. Its content stands in a part of the message, and only there. */
export interface StoredAttachment extends Pick<Attachment, 'name' | 'type' | 'size'> {
	/** The index of the part. */
	readonly part: number;
	/** Where the content of a text begins and ends within the part. */
	readonly text?: readonly [from: number, to: number];
}

/** A message and its attachments. */
export interface WithAttachments {
	readonly message: UserMessage;
	readonly attachments: readonly StoredAttachment[];
}

/**
 * Creates the message of a text or of parts, with its attachments behind it: a text in a frame that names the file and
 * that the text itself cannot close, an image as an image, anything else as a file.
 */
export function withAttachments(
	{ text, parts }: { readonly text?: string; readonly parts?: readonly MessagePart[] },
	attachments: readonly Attachment[] = [],
): WithAttachments {
	if (attachments.length === 0) return { message: userMessage(parts ?? text ?? ''), attachments: [] };
	const own = parts ?? (text === undefined ? [] : [textPart(text)]);
	const woven = attachments.map((one, index) => weave(one, own.length + index));
	return {
		message: userMessage([...own, ...woven.map(({ part }) => part)]),
		attachments: woven.map(({ stored }) => stored),
	};
}

/** Returns attachments with their contents, from the parts of the message. A text has its content as text. */
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

/** Returns whether a media type is text. SVG is, and no model takes it as an image. */
function isText(type: string): boolean {
	return /^text\/|^application\/(json|xml|yaml|x-yaml|toml|javascript|sql|x-ndjson)$|\+(json|xml|yaml)$/i.test(type);
}

/** Decodes base64 as UTF-8; nothing if it is not. */
function decodeText(data: string): string | undefined {
	try {
		return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(fromBase64(data));
	} catch {
		return undefined;
	}
}

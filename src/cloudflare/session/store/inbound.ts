import type { Message } from '../../../core/chat/index.ts';
import type { SkillContext } from '../../../core/skill/index.ts';
import type { Input } from '../../rpc/session.ts';
import { readAttachments, type StoredAttachment, withAttachments } from './attachment.ts';
import type { MessageRecord } from './message.ts';

/** What is known of a message beside what it says: who sent it, by what way, and what came with it. */
export interface Inbound {
	readonly sender: string;
	readonly transport: string;
	readonly attachments?: readonly StoredAttachment[];
	/** The sender's own id of the message. */
	readonly messageId?: string;
}

/** A message from outside, as it enters the history, and what is stored beside it. */
export function toInbound({ sender, transport = 'http', messageId, ...input }: Input, owner: string) {
	const { message, attachments } = withAttachments(input, input.attachments);
	const inbound: Inbound = {
		sender: sender ?? owner,
		transport,
		...(attachments.length > 0 && { attachments }),
		...(messageId !== undefined && { messageId }),
	};
	return { message, inbound };
}

/** What tools and skills are told of the message that a run answers: of the newest that came from outside. */
export class InboundContext {
	#context: SkillContext;
	#transport = 'http';

	/** @param owner whose session it is: the sender of messages that were stored without one. */
	constructor(records: readonly MessageRecord[], owner: string) {
		this.#context = { sender: owner, transport: 'http', attachments: [] };
		const newest = records.findLast(({ inbound }) => inbound !== undefined);
		if (newest !== undefined) this.accept(newest.message, newest.inbound);
	}

	get current(): SkillContext {
		return this.#context;
	}

	/** By what way it came. */
	get transport(): string {
		return this.#transport;
	}

	/** A newer message came. */
	accept(message: Message, inbound: Inbound | undefined): void {
		if (inbound === undefined) return;
		const { sender, transport, attachments } = inbound;
		this.#transport = transport;
		const parts = 'parts' in message ? message.parts : undefined;
		this.#context = { sender, transport, attachments: readAttachments(parts, attachments) };
	}
}

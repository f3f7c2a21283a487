import type { Context } from 'hono';
import type { Bytes } from '../objects/reach.ts';
import type { Caller, PageQuery } from '../objects/session-api.ts';
import type { RouteEnv } from '../routes/identity.ts';
import { askSession } from '../routes/respond.ts';
import type { shownMessage } from '../wire/message.ts';
import type { Shown } from '../wire/operation.ts';
import { toItems } from '../wire/protocols/responses/items.ts';

type StoredMessage = Shown<typeof shownMessage>;

interface Listed {
	readonly id: DurableObjectId;
	readonly caller: Caller;
	/** The position of the first message. */
	readonly from?: number;
}

/** Lists the items of a session's messages, the oldest first. `choose` decides about each message. */
export async function listItems(
	c: Context<RouteEnv>,
	{ id, caller, from }: Listed,
	choose: (message: StoredMessage) => 'take' | 'skip' | 'end' = () => 'take',
) {
	const items: ReturnType<typeof toItems> = [];
	let next: string | undefined = String(from ?? 0);
	while (next !== undefined) {
		const page: PageQuery = { cursor: Number(next), limit: 100, order: 'asc' };
		const bytes: Bytes = await askSession(c, id, (one) => one.messages(caller, page), true);
		const { messages, cursor }: { messages: StoredMessage[]; cursor?: string } = await new Response(bytes).json();
		for (const message of messages) {
			const what = message.isReplaced === true ? 'skip' : choose(message);
			if (what === 'end') return items;
			if (what === 'take') items.push(...toItems(message, id.toString()));
		}
		next = cursor;
	}
	return items;
}

import { type Conversation, durable, loop, plain, type Subject, session } from './subjects.ts';

/** A row of the table: a Worker, and whether each run starts a conversation or continues one. */
export interface Row {
	readonly name: string;
	readonly subject: Subject;
	readonly goesOn: boolean;
}

export const rows = {
	plain: { name: plain.name, subject: plain, goesOn: false },
	durableNew: { name: `${durable.name}, new`, subject: durable, goesOn: false },
	durable: { name: `${durable.name}, existing`, subject: durable, goesOn: true },
	loop: { name: loop.name, subject: loop, goesOn: false },
	sessionNew: { name: `${session.name}, new`, subject: session, goesOn: false },
	session: { name: `${session.name}, existing`, subject: session, goesOn: true },
} as const satisfies Readonly<Record<string, Row>>;

export type RowName = keyof typeof rows;
export const rowNames: readonly RowName[] = ['plain', 'durableNew', 'durable', 'loop', 'sessionNew', 'session'];

/**
 * Returns a conversation for each lane. In a row that continues conversations, each conversation already has its
 * first message.
 */
export async function openLanes(
	{ subject, goesOn }: Row,
	url: string,
	lanes: number,
): Promise<readonly Conversation[]> {
	if (!goesOn) return Array.from({ length: lanes }, () => async (plan) => (await subject.begin(url))(plan));
	return Promise.all(
		Array.from({ length: lanes }, async () => {
			const conversation = await subject.begin(url);
			await conversation({ tools: 0, deltas: 1, perWrite: 1, paceMs: 0, padding: 0 });
			return conversation;
		}),
	);
}

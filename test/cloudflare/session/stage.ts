import { readEvents, readHistory, request, type WireEvent } from '../../client.ts';

/** A model, a tool or another object that never answers. */
export const forever = () => new Promise<never>(() => {});

/** Shows the output of a scripted turn. */
type Show = (delta: { readonly type: string; readonly text: string }) => unknown;

/** A turn that shows these pieces and never ends. */
export const readHalf =
	(...pieces: readonly string[]) =>
	async (_: unknown, show: Show): Promise<never> => {
		for (const text of pieces) await show({ type: 'text', text });
		return forever();
	};

/** A turn that shows these pieces, and then its stream drops. */
export const dropAfter =
	(...pieces: readonly string[]) =>
	async (_: unknown, show: Show): Promise<undefined> => {
		for (const text of pieces) await show({ type: 'text', text });
	};

/** Sends a message without waiting for its run. A message with a key may be sent again. */
export function post(id: string, { text = 'go', key }: { readonly text?: string; readonly key?: string } = {}) {
	const headers = { prefer: 'respond-async', ...(key !== undefined && { 'idempotency-key': key }) };
	return request(`/v1/sessions/${id}/messages`, { text }, headers);
}

/** Whether an event ends a run. */
export const isEnd = ({ type }: WireEvent) => ['done', 'awaiting', 'halted', 'cancelled', 'error'].includes(type);

/** Reads until an event of this type or with this text, then leaves. */
export async function readTo(response: Response, last: { readonly type?: string; readonly text?: string }) {
	const seen: WireEvent[] = [];
	for await (const event of readEvents(response)) {
		seen.push(event);
		if (event.type === last.type || (last.text !== undefined && event.data.text === last.text)) break;
	}
	return seen;
}

/** The text of each turn that a reader sees. A restarted turn has only the text after its last restart. */
export function readTurns(events: readonly WireEvent[]): string[] {
	const turns = [''];
	for (const { type, data } of events) {
		if (type === 'turn.restarted') turns[turns.length - 1] = '';
		if (type === 'text') turns.push(`${turns.pop()}${data.text}`);
		if (type === 'step') turns.push('');
	}
	return turns.filter((text) => text !== '');
}

/** The stored replies of the model. */
export async function readReplies(id: string): Promise<unknown[]> {
	return (await readHistory(id)).filter(({ role }) => role === 'assistant').map(({ content }) => content);
}

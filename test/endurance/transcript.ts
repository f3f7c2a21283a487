import type { EventSourceMessage } from 'eventsource-parser';
import * as v from 'valibot';

export interface ReadTurn {
	text: string;
	readonly calls: { readonly id: string; readonly name: string; json: string }[];
	readonly results: { readonly id: string; readonly output: unknown }[];
}

const terminal = ['done', 'awaiting', 'halted', 'cancelled', 'error'] as const;
const unknownEvent = v.looseObject({ type: v.string() });
const event = v.variant('type', [
	v.looseObject({ type: v.literal('run.started'), attempt: v.number() }),
	v.looseObject({ type: v.literal('text'), text: v.string() }),
	v.looseObject({ type: v.literal('tool_use_start'), id: v.string(), name: v.string() }),
	v.looseObject({ type: v.literal('tool_use_input'), id: v.string(), partialInputJson: v.string() }),
	v.looseObject({ type: v.literal('tool_result'), id: v.string(), output: v.unknown() }),
	v.looseObject({ type: v.literal('step'), text: v.string() }),
	v.looseObject({ type: v.literal('turn.restarted') }),
	v.looseObject({ type: v.picklist(terminal), code: v.optional(v.string()) }),
]);
const known: ReadonlySet<string> = new Set([
	'run.started',
	'text',
	'tool_use_start',
	'tool_use_input',
	'tool_result',
	'step',
	'turn.restarted',
	...terminal,
]);

/**
 * Assembles a run's events over all connections of a reader. Throws for an invalid stream: a repeated event, a piece of a
 * call that never began, a turn's record that differs from its text, or an event after the end.
 */
export function createTranscript() {
	const seen = new Set<string>();
	const turns: ReadTurn[] = [];
	let open: ReadTurn = { text: '', calls: [], results: [] };
	let lastEventId: string | undefined;
	let restarted = 0;
	let attempt = 0;
	let end: { readonly type: string; readonly code?: string } | undefined;

	const take = (data: v.InferOutput<typeof event>): void => {
		switch (data.type) {
			case 'run.started':
				attempt = data.attempt;
				break;
			case 'text':
				open.text += data.text;
				break;
			case 'tool_use_start':
				open.calls.push({ id: data.id, name: data.name, json: '' });
				break;
			case 'tool_use_input': {
				const call = open.calls.find(({ id }) => id === data.id);
				if (call === undefined) throw new Error(`input of the call ${data.id}, which did not begin`);
				call.json += data.partialInputJson;
				break;
			}
			case 'tool_result':
				open.results.push({ id: data.id, output: data.output });
				break;
			case 'step':
				if (data.text !== open.text) throw new Error(`a turn reads "${open.text}", its record "${data.text}"`);
				turns.push(open);
				open = { text: '', calls: [], results: [] };
				break;
			case 'turn.restarted':
				restarted++;
				open = { text: '', calls: [], results: [] };
				break;
			default:
				if (data.type === 'done' && open.text !== '') throw new Error(`behind the last turn: "${open.text}"`);
				end = data;
		}
	};
	return {
		take: ({ id, data }: EventSourceMessage): void => {
			if (end !== undefined) throw new Error(`an event behind the end: ${data}`);
			if (id !== undefined && seen.has(id)) throw new Error(`the event ${id} came twice: ${data}`);
			if (id !== undefined) seen.add(id);
			lastEventId = id ?? lastEventId;
			const json = v.parse(unknownEvent, JSON.parse(data));
			if (known.has(json.type)) take(v.parse(event, json));
		},
		/** The complete turns. */
		turns: turns as readonly ReadTurn[],
		/** The text of the incomplete turn. */
		get partial(): string {
			return open.text;
		},
		get lastEventId(): string | undefined {
			return lastEventId;
		},
		get events(): number {
			return seen.size;
		},
		/** How often a turn was repeated. */
		get restarted(): number {
			return restarted;
		},
		/** The attempt of the run. */
		get attempt(): number {
			return attempt;
		},
		get end() {
			return end;
		},
	};
}

export type Transcript = ReturnType<typeof createTranscript>;

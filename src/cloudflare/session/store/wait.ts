import type { Wait, WaitedCall } from '../../objects/directory/wait.ts';
import { findPending } from './calls.ts';
import { isWaiting } from './session-row.ts';
import type { SessionStore } from './store.ts';

/** The maximum number of a session's calls in its owner's list. Answered calls make room for the next calls. */
const mostCalls = 100;

/** The maximum length of arguments, a question or options in the list, as JSON. The session has them whole. */
const longestValue = 4_000;

/** Describes what a session waits for, for the owner's list. Returns nothing if the session waits for nobody. `readAbout` reads what each call says of the session. */
export function findWait(store: SessionStore, readAbout: () => Pick<WaitedCall, 'labels' | 'spent'>): Wait | undefined {
	if (!isWaiting(store.status)) return undefined;
	const { turn, question, calls = [], askedAt } = findPending(store);
	const asked = turn.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []));
	const find = (callId: string, kind: WaitedCall['kind']) => {
		const place = asked.findIndex(({ id }) => id === callId);
		return { callId, kind, place, tool: asked[place]?.name };
	};
	const waiting = calls.map(
		({ id, kind, input, flow, preview }): WaitedCall => ({
			...find(id, kind ?? 'result'),
			...toInput(input),
			...(flow !== undefined && { flow }),
			...(preview !== undefined && (isShort(preview) ? { preview } : { isCut: true })),
		}),
	);
	if (question !== undefined) {
		const { callId, question: text, options } = question;
		waiting.push({ ...find(callId, 'question'), ...toQuestion(text, options) });
	}
	waiting.sort((a, b) => a.place - b.place);
	if (waiting.length === 0) return undefined;
	const about = readAbout();
	return { since: askedAt, calls: waiting.slice(0, mostCalls).map((call) => ({ ...call, ...about })) };
}

function toInput(input: unknown): Pick<WaitedCall, 'input' | 'inputStart'> {
	return isShort(input) ? { input } : { inputStart: JSON.stringify(input).slice(0, longestValue) };
}

function toQuestion(text: string, options: WaitedCall['options']): Pick<WaitedCall, 'question' | 'options' | 'isCut'> {
	const hasOptions = options !== undefined && isShort(options);
	const isWhole = text.length <= longestValue && (options === undefined || hasOptions);
	return { question: text.slice(0, longestValue), ...(hasOptions && { options }), ...(!isWhole && { isCut: true }) };
}

function isShort(value: unknown): boolean {
	return (JSON.stringify(value) ?? '').length <= longestValue;
}

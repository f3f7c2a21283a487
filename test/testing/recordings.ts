/** Recordings that a test writes by hand. */

interface WrittenCall {
	readonly tool: string;
	readonly input: unknown;
	/** The result. Without it the call has none. */
	readonly result?: unknown;
	readonly isError?: boolean;
	/** The arguments that a person gave the call. */
	readonly ranWith?: Readonly<Record<string, unknown>>;
	readonly stored?: object;
}

/** A turn: what a person says, what the model says, or the calls of the model with their results. */
export type WrittenTurn = { readonly user: string; readonly stored?: object } | string | readonly WrittenCall[];

interface Written {
	readonly agent: string;
	readonly model?: string;
	readonly turns: readonly WrittenTurn[];
	readonly children?: readonly object[];
	readonly end?: object;
	/** The tools that the session got from servers. */
	readonly loaded?: readonly object[];
	/** The tools that the client runs. */
	readonly clientTools?: readonly object[];
}

const createdAt = '2026-01-31T09:00:00.000Z';
const endedAt = '2026-01-31T09:00:02.000Z';
const usage = { inputTokens: 100, outputTokens: 10, costUsd: 0.001 };

/** Writes a recording. Each message of a person begins a run. */
export function writeRecording({ agent, model = 'scripted', turns, children, end, loaded = [], clientTools }: Written) {
	let run = 0;
	let ids = 0;
	let hasSetup = false;
	const messages = turns.flatMap((turn, at): object[] => {
		const place = (at + 1) * 65_536;
		if (typeof turn !== 'string' && 'user' in turn) run++;
		const about = { id: String(place), runId: `run_${run}`, createdAt };
		if (typeof turn !== 'string' && 'user' in turn)
			return [{ ...about, role: 'user', content: turn.user, isInput: true, stored: turn.stored ?? {} }];
		const tools = loaded.map((tool) => ({ ...tool, isLoaded: true }));
		const stored = hasSetup || tools.length === 0 ? {} : { setup: { system: '', tools } };
		hasSetup = true;
		const reply = { ...about, role: 'assistant', stored, turn: { iteration: 1, model, stopReason: 'end_turn', usage } };
		if (typeof turn === 'string') return [{ ...reply, content: turn }];
		const calls = turn.map((call) => ({ ...call, id: `recorded_${++ids}` }));
		return [
			{ ...reply, content: '', toolCalls: calls.map(({ id, tool, input }) => ({ id, name: tool, input })) },
			...calls.flatMap(({ id, result, isError, ranWith, stored = {} }, n) =>
				result === undefined
					? []
					: {
							...{ ...about, id: String(place + n + 1), role: 'tool', toolCallId: id, content: result, stored },
							...(isError && { isError }),
							...(ranWith && { ranWith }),
						},
			),
		];
	});
	const runs = Array.from({ length: run }, (_, at) => ({
		...{ id: `run_${at + 1}`, status: 'completed', lives: 1, createdAt, endedAt },
		stored: {
			firstMessage: '65536',
			end: {
				...{ before: [], draft: [], steps: 1 },
				event: at === run - 1 && end !== undefined ? end : { type: 'done', text: '', usage: {} },
			},
		},
	}));
	const budget = { limit: {}, left: {}, spent: { tokens: 0, usd: 0 }, reserved: { tokens: 0, usd: 0 } };
	const session = { id: 's', agent, model, owner: 'test', user: 'ada', status: 'idle', createdAt, bytes: 0, budget };
	return {
		recording: 1,
		version: 1,
		session: { version: 1, ...session, ...(clientTools && { clientTools }) },
		...{ runs, messages, spending: [], state: [], notes: [], waiting: [], files: [] },
		...(children && { children }),
	};
}

import { HttpAgent } from '@ag-ui/client';
import { type Client, type Talk, type Terms, weather } from './client.ts';

/** `HttpAgent`, as pages and CopilotKit use it. */
function open({ url, agent: name, headers, hasTool, signal }: Terms): Talk {
	const agent = new HttpAgent({ url: `${url}/v1/ag-ui/${name}`, headers: { ...headers } });
	signal?.addEventListener('abort', () => agent.abortRun());
	const { description, parameters, schema, run } = weather;
	const tools = hasTool ? [{ name: weather.name, description, parameters }] : [];
	const add = (content: string) => agent.addMessage({ id: crypto.randomUUID(), role: 'user', content });
	const send = async (about: Parameters<typeof agent.runAgent>[0] = {}): Promise<string> => {
		let failure: Error | undefined;
		await agent.runAgent(
			{ tools, ...about },
			{
				onRunErrorEvent: ({ event }) => {
					failure = new Error(event.message);
				},
			},
		);
		if (failure !== undefined) throw failure;
		signal?.throwIfAborted();
		const last = agent.messages.at(-1);
		const calls = last?.role === 'assistant' ? (last.toolCalls ?? []) : [];
		const own = calls.filter((call) => call.function.name === weather.name);
		for (const {
			id,
			function: { arguments: text },
		} of own) {
			const content = run(schema.parse(JSON.parse(text)));
			agent.addMessage({ id: crypto.randomUUID(), role: 'tool', toolCallId: id, content });
		}
		return own.length > 0 ? send() : String(last?.content);
	};
	const resume = (payload: unknown) =>
		send({ resume: agent.pendingInterrupts.map(({ id }) => ({ interruptId: id, status: 'resolved', payload })) });
	return {
		say: async (content) => {
			if (agent.pendingInterrupts.length > 0) return resume(content);
			add(content);
			const said = await send();
			return agent.pendingInterrupts[0]?.message ?? said;
		},
		again: () => send(),
		approve: () => resume({ approved: true }),
		resume: async (left) => {
			const begun = Promise.withResolvers<void>();
			add('Go');
			const first = agent.runAgent({}, { onTextMessageContentEvent: () => begun.resolve() });
			await begun.promise;
			agent.abortRun();
			await first;
			left();
			return send();
		},
	};
}

export const agUi: readonly Client[] = [
	{
		packages: ['@ag-ui/client'],
		wire: 'AG-UI',
		ways: ['stream'],
		notes: { JSON: 'none', cancel: 'leaves', retry: 'again' },
		open,
	},
];

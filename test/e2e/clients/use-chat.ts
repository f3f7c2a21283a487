import { expect } from 'vitest';
import { type AnyChat, chats } from '../ui/chats.ts';
import { type Client, type Talk, type Terms, weather } from './client.ts';

/** The chat of `useChat`, with its default transport. */
function open(version: 5 | 6 | 7, { url, agent, hasTool, signal }: Terms): Talk {
	const api = `${url}/v1/ui/${agent}`;
	const id = crypto.randomUUID();
	const chat = chats[version]({
		...{ api, id, automatic: true },
		onToolCall: ({ toolCallId, toolName }, self) => {
			if (hasTool && toolName === 'locate')
				void self.addToolOutput({ toolCallId, output: weather.run({ at: 'Oslo' }) });
		},
	});
	signal?.addEventListener('abort', () => void chat.stop());
	const read = async ({ error, messages }: AnyChat): Promise<string> => {
		if (error !== undefined) throw error;
		signal?.throwIfAborted();
		return (messages.at(-1)?.parts ?? []).map(({ type, text }) => (type === 'text' ? text : '')).join('');
	};
	return {
		say: async (text) => {
			await chat.sendMessage({ text });
			// The chat posts the results of its tools by itself.
			if (hasTool) await expect.poll(() => chat.messages.at(-1)?.parts.at(-1)?.type).toBe('text');
			return read(chat);
		},
		again: async () => {
			await chat.sendMessage();
			return read(chat);
		},
		approve: async () => {
			const waiting = chat.messages.at(-1)?.parts.find(({ state }) => state === 'approval-requested');
			await chat.addToolApprovalResponse?.({ id: Object(waiting?.approval).id, approved: true });
			await expect.poll(() => chat.messages.at(-1)?.parts.at(-1)?.type).toBe('text');
			return read(chat);
		},
		resume: async (left) => {
			const first = chat.sendMessage({ text: 'Go' });
			await expect.poll(() => chat.messages.at(-1)?.role).toBe('assistant');
			await chat.stop();
			await first;
			const { messages } = await (await fetch(`${api}/${id}/messages`)).json();
			const again = chats[version]({ api, id, messages });
			const resumed = again.resumeStream();
			await expect.poll(() => again.messages.at(-1)?.role).toBe('assistant');
			left();
			await resumed;
			return read(again);
		},
	};
}

const approvals = { 5: { approval: 'unseen' }, 6: {}, 7: {} };

export const useChat: readonly Client[] = ([5, 6, 7] as const).map((version) => ({
	packages: [`ai-react${version}`, `ai${version}`],
	wire: 'AI SDK pages',
	ways: ['stream'],
	tool: 'locate',
	notes: { JSON: 'none', cancel: 'leaves', retry: 'again', ...approvals[version] },
	open: (terms) => open(version, terms),
}));

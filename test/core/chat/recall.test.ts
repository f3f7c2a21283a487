/** `recall` adds a text before the newest user message, without a message of its own. */
import { expect, test } from 'vitest';
import { chat, RunletError } from '../../../src/core/index.ts';
import { codes, compact, history, names, truncate } from './long-conversation.ts';
import { calling, echo, echoCall, finish, only } from './support.ts';

const recalled = { text: 'He likes tea.', sources: ['tea.md', 'time.md'] };
const front = chat.textPart(recalled.text);
const told = (...own: chat.MessagePart[]) => chat.userMessage([front, ...own]);
const question = chat.userMessage('Which drink?');

test('sends the recalled text before the newest user message, and keeps it out of the history', async () => {
	const asked: string[] = [];
	const recall = (text: string) => {
		asked.push(text);
		return recalled;
	};
	const before = [chat.userMessage('Hello'), chat.assistantMessage('Hi')];
	const script = [calling(echoCall('x')), 'Tea.'];
	const options = { recall, tools: [echo], system: 'Be kind.' };
	const { requests, result, events } = await finish(script, options, [...before, question]);
	expect(asked).toEqual(['Which drink?']);
	const start = [...before, told(chat.textPart('Which drink?'))];
	expect(requests[0]?.messages).toEqual(start);
	expect(requests[1]?.messages.slice(0, 3)).toEqual(start);
	expect(requests.map(({ system }) => system)).toEqual(['Be kind.', 'Be kind.']);
	expect(result.messages.slice(0, 3)).toEqual([...before, question]);
	expect(only(events, 'note')).toEqual([{ type: 'note', id: 'recall', label: 'Recalled', detail: 'tea.md, time.md' }]);
	expect(events.map(({ type }) => type).indexOf('note')).toBe(1);
});

test('sends the recalled text before all parts of the message', async () => {
	const image = chat.imagePart('https://example.com/a.png');
	const { requests } = await finish(['Tea.'], { recall: async () => recalled }, [chat.userMessage([image])]);
	expect(requests[0]?.messages).toEqual([told(image)]);
});

test('keeps the recalled text before its message, even if another message arrives during the run', async () => {
	const waiting = [chat.userMessage('No, coffee')];
	let turns = 0;
	const steer = () => (turns++ === 1 ? waiting : []);
	const script = [calling(echoCall('x')), 'Coffee.'];
	const { requests } = await finish(script, { recall: () => recalled, steer, tools: [echo] }, [question]);
	expect(requests[0]?.messages[0]).toEqual(told(chat.textPart('Which drink?')));
	expect(requests[1]?.messages[0]).toEqual(requests[0]?.messages[0]);
	expect(requests[1]?.messages.at(-1)).toEqual(waiting[0]);
});

test('sends earlier recalled texts again, even if nothing new is recalled', async () => {
	const before = [chat.userMessage('Hello'), chat.assistantMessage('Hi')];
	const earlier = new Map([[0, recalled.text]]);
	const { requests, events } = await finish(['Tea.'], { recall: () => ({ text: '', sources: [], earlier }) }, [
		...before,
		question,
	]);
	expect(requests[0]?.messages).toEqual([told(chat.textPart('Hello')), before[1], question]);
	expect(only(events, 'note')).toEqual([]);
});

test('sends the unchanged history and emits no note if nothing is recalled', async () => {
	const { requests, events } = await finish(['Tea.'], { recall: () => undefined }, [question]);
	expect(requests[0]?.messages).toEqual([question]);
	expect(only(events, 'note')).toEqual([]);
});

test('warns if recall fails, and continues the run without a recalled text', async () => {
	const recall = () => Promise.reject(new RunletError('overloaded', 'The memory cannot be reached now.'));
	const { requests, events } = await finish(['Tea.'], { recall }, [question]);
	expect(requests[0]?.messages).toEqual([question]);
	const message = 'Nothing was recalled. The memory cannot be reached now.';
	expect(only(events, 'warning')).toEqual([{ type: 'warning', code: 'not_recalled', message }]);
});

test('counts the recalled text for the context limit, and does not put it into a summary', async () => {
	const recall = () => ({ text: 'x'.repeat(1_000), sources: [] });
	const without = await finish(['fine'], truncate(1_000), history);
	const { requests } = await finish(['fine'], { ...truncate(1_000), recall }, history);
	expect(requests[0]?.messages.length).toBeLessThan(without.requests[0]?.messages.length ?? 0);
	expect(chat.countTokensHeuristic(requests[0]?.messages ?? [])).toBeLessThanOrEqual(500);
	const told = () => ({ ...recall(), earlier: new Map([[0, 'xxx from before']]) });
	const summed = await finish(Array(8).fill('A summary.'), { ...compact(1_300), recall: told }, history);
	expect(codes(only(summed.events, 'warning'))).toEqual(['context_compacted']);
	expect(summed.requests.length).toBeGreaterThan(1);
	expect(JSON.stringify(summed.requests.slice(0, -1))).not.toContain('xxx');
	expect(names(summed.requests.at(-1)?.messages).at(-1)).toContain('xxx');
});

test('does not wait for recall after a cancellation', async () => {
	const abort = new AbortController();
	const recall = () => {
		abort.abort();
		return new Promise<never>(() => {});
	};
	const run = chat.run({ model: 'scripted', chatFn: async () => 'never', recall, signal: abort.signal }, [question]);
	await expect(run.result).rejects.toMatchObject({ code: 'cancelled' });
});

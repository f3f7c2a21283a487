/** Spans of Cloudflare's own traces (docs/observability.md, "Export"). */
import { tracing } from 'cloudflare:workers';
import { afterEach, expect, test, vi } from 'vitest';
import { createSession, request } from '../../client.ts';
import { play } from '../../script.ts';
import { call } from './collector.ts';

afterEach(() => vi.restoreAllMocks());

/** Records the spans of the platform: where each is, and its attributes. */
function recordSpans() {
	const spans: Record<string, unknown>[] = [];
	let open = 0;
	vi.spyOn(tracing, 'enterSpan').mockImplementation((name, work, ...more) => {
		const span: Record<string, unknown> = { name, within: open++ };
		spans.push(span);
		const setAttribute = (key: string, value: unknown) => {
			span[key] = value;
		};
		// SAFETY: the code under test uses nothing else of a span.
		const done = work({ isTraced: true, setAttribute } as never, ...more);
		void Promise.resolve(done).finally(() => {
			span.isOver = true;
			open--;
		});
		return done;
	});
	return spans;
}

test('a run, its requests to the model and its calls are spans of the platform', async () => {
	const spans = recordSpans();
	const id = await createSession();
	play({ toolCalls: [call('c', 'echo', { text: 'hi' })] }, 'Done.');
	const { runId } = await (await request(`/v1/sessions/${id}/messages`, { text: 'Go' })).json<{ runId: string }>();
	const [run, first, tool, second, ...more] = spans;
	expect(more).toEqual([]);
	expect(run).toMatchObject({ name: 'invoke_agent scripted', within: 0, 'gen_ai.agent.name': 'scripted' });
	expect(run).toMatchObject({ 'gen_ai.conversation.id': id, 'runlet.run.id': runId, isOver: true });
	const chat = {
		name: 'chat scripted',
		within: 1,
		'gen_ai.operation.name': 'chat',
		'gen_ai.request.model': 'scripted',
	};
	expect([first, second]).toMatchObject([chat, chat]);
	expect(tool).toMatchObject({ name: 'execute_tool echo', within: 1, 'gen_ai.tool.name': 'echo' });
	expect(tool).toMatchObject({ 'gen_ai.tool.call.id': 'c', isOver: true });
});

test('a tool that fails ends its span, and the platform’s spans change no result', async () => {
	const spans = recordSpans();
	const id = await createSession();
	play({ toolCalls: [call('c', 'nothing', {})] }, 'It failed.');
	const answer = await (await request(`/v1/sessions/${id}/messages`, { text: 'Go' })).json();
	expect(answer).toMatchObject({ status: 'completed', text: 'It failed.' });
	expect(spans.map(({ name, isOver }) => [name, isOver])).toContainEqual(['execute_tool nothing', true]);
});

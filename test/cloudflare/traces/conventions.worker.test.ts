import { describe, expect, test } from 'vitest';
import docs from '../../../docs/observability.md?raw';
import type { TraceSpan } from '../../../src/cloudflare/wire/trace.ts';
import { createSession, request } from '../../client.ts';
import { play } from '../../script.ts';
import { usage } from '../session/family.ts';
import { call } from './collector.ts';
import deprecated from './conventions/deprecated-1.36.0.yaml?raw';
import oldRegistry from './conventions/registry-1.36.0.yaml?raw';
import newRegistry from './conventions/registry-2026-05.yaml?raw';
import oldSpans from './conventions/spans-1.36.0.yaml?raw';
import newSpans from './conventions/spans-2026-05.yaml?raw';
import { findMistakes, readConventions } from './conventions.ts';

const now = readConventions([newRegistry], newSpans);
const before = readConventions([oldRegistry, deprecated], oldSpans);

/** The rows of the table of names: a name here, and the names that the other versions have for it. */
const names = new Map(
	[...docs.matchAll(/^\| `(gen_ai[\w.]+)` \| (.+?) \| (.+?) \|$/gm)].map(([, here = '', older = '', newer = '']) => [
		here,
		{ older: toName(older), newer: toName(newer) },
	]),
);

function toName(cell: string): string | undefined {
	return /`([\w.]+)`/.exec(cell)?.[1];
}

/** Renames attributes and values by the table. What an older version lacks is left out. */
function rename(span: TraceSpan): TraceSpan {
	const attributes = span.attributes.flatMap(({ key, value }) => {
		const row = names.get(key);
		const name = row === undefined ? key : row.older;
		if (name === undefined) return [];
		const isGrok = 'stringValue' in value && value.stringValue === 'x_ai' && key === 'gen_ai.provider.name';
		return [{ key: name, value: isGrok ? { stringValue: 'xai' } : value }];
	});
	return { ...span, attributes };
}

/** The spans of a session with a failed call, a wait, a failed run, and tokens of a cache. */
async function listSpans(provider?: string): Promise<readonly TraceSpan[]> {
	const id = await createSession();
	const spent = { ...usage(200, 10), cachedInputTokens: 50, units: { cache_write_tokens: 20 }, provider };
	play(
		{
			toolCalls: [call('c', 'echo', { text: 'hi' }), call('w', 'echo', {}), call('p', 'pay', { amount: 5 })],
			usage: spent,
		},
		{ text: 'Paid.', usage: spent },
		() => Promise.reject(new Error('no')),
	);
	await (await request(`/v1/sessions/${id}/messages`, { text: 'Go' })).text();
	await (await request(`/v1/sessions/${id}/tool-results`, [{ id: 'p', approve: true }])).text();
	await (await request(`/v1/sessions/${id}/messages`, { text: 'Again' })).text();
	const trace = await (await request(`/v1/sessions/${id}/trace?content=true`)).json<{ resourceSpans: object[] }>();
	const { spans } = Object(trace.resourceSpans[0]).scopeSpans[0];
	expect(spans).toHaveLength(8);
	return spans;
}

const operations: Readonly<Record<string, { readonly now: readonly string[]; readonly before: readonly string[] }>> = {
	chat: { now: ['gen_ai.inference.client'], before: ['gen_ai.inference.client'] },
	// The older version knows only the agents of remote services, so it has no rule for the kind of others.
	invoke_agent: {
		now: ['gen_ai.invoke_agent.internal'],
		before: ['gen_ai.invoke_agent.client', 'gen_ai.execute_tool.internal'],
	},
	execute_tool: { now: ['gen_ai.execute_tool.internal'], before: ['gen_ai.execute_tool.internal'] },
};
const findNames = ({ name }: TraceSpan) => operations[name.split(' ')[0] ?? ''] ?? { now: [], before: [] };

describe.each([undefined, 'mistral', 'xai', 'gemini', 'anthropic'])('the spans of a model of %s', (provider) => {
	test('are valid by the schema of the conventions', async () => {
		const mistakes = (await listSpans(provider)).map((span) => findMistakes(now, span, findNames(span).now));
		expect(mistakes.flat()).toEqual([]);
	});

	test('are valid by the schema of the older conventions, renamed by the table', async () => {
		const spans = (await listSpans(provider)).map((span) => rename(span));
		expect(spans.flatMap((span) => findMistakes(before, span, findNames(span).before))).toEqual([]);
	});
});

test('the table has each name that the older conventions lack', async () => {
	const keys = new Set((await listSpans()).flatMap(({ attributes }) => attributes.map(({ key }) => key)));
	const missing = [...keys].filter((key) => key.startsWith('gen_ai.') && !before.types.has(key));
	expect(missing.filter((key) => !names.has(key))).toEqual([]);
	for (const { older } of names.values()) if (older !== undefined) expect(before.types.has(older), older).toBe(true);
});

test('the schema finds a wrong span', async () => {
	const [, chat] = await listSpans('mistral');
	const wrong = { ...chat, kind: 1, attributes: [{ key: 'gen_ai.system', value: { stringValue: 'mistral' } }] };
	expect(findMistakes(now, Object(wrong), ['gen_ai.inference.client'])).toEqual(
		expect.arrayContaining(['gen_ai.system is unknown', 'the kind is internal', 'gen_ai.provider.name is missing']),
	);
});

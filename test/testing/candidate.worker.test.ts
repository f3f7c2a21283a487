import { expect, test } from 'vitest';
import { providers } from '../../src/core/index.ts';
import { compareCandidates, readRecording, writeComparison } from '../../src/testing/index.ts';
import { createShop } from './shop.ts';
import { recordVisit } from './visit.ts';

test('a candidate that replies as the recorded model did gets each recorded answer, and no tool runs', async () => {
	const recording = readRecording(await recordVisit());
	const replies = recording.messages.flatMap((message) =>
		message.role === 'assistant'
			? { text: message.content, ...(message.toolCalls && { toolCalls: message.toolCalls }) }
			: [],
	);
	const provider = providers.scripted(replies);
	const comparison = await compareCandidates(recording, {
		...{ agents: createShop(), candidates: [{ model: 'scripted-new' }], providers: [provider] },
	});
	const { recorded, baseline, candidates } = comparison;
	const trial = candidates[0]?.trials[0];
	expect(baseline.replay?.divergence).toBeUndefined();
	expect(trial).toMatchObject({ end: 'halted', missed: [], text: recorded.text });
	const others = trial?.calls.filter(({ answeredBy }) => answeredBy !== 'recording');
	expect(others).toEqual([]);
	const { seconds: _, tokens: __, usd: ___, ...counts } = recorded.figures;
	expect(trial?.figures).toMatchObject(counts);
	// What the candidate was sent in the end is the recorded conversation.
	const contents = provider.requests.at(-1)?.messages.map(({ role, content }) => [role, content]);
	const visible = recording.messages.map(({ role, content }) => [role, content]).slice(0, contents?.length);
	expect(contents?.map(([role]) => role)).toEqual(visible.map(([role]) => role));
	expect(writeComparison(comparison)).not.toContain('no recorded answer');
});

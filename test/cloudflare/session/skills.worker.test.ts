import { env } from 'cloudflare:test';
import { beforeAll, expect, test } from 'vitest';
import { allEvents, createSession, readText, request, send } from '../../client.ts';

beforeAll(async () => {
	const skills = [
		{ name: 'tone', description: 'How we write.', when: ['customer', 'reply'], hash: 'h1' },
		{ name: 'broken', description: 'Its text is gone.', when: ['gone'], hash: 'h2' },
		{ nonsense: true },
	];
	await env.SKILLS.put('skill:index', JSON.stringify({ version: 1, skills }));
	await env.SKILLS.put('skill:body:h1', JSON.stringify({ body: 'Be warm.' }));
});

test('an agent reads a published skill whose trigger is in a message', async () => {
	const events = await allEvents(await send(await createSession('skilled'), 'Reply to this customer, please.'));
	const read = events.find(({ type }) => type === 'tool_result');
	expect(read?.data).toMatchObject({ output: 'Be warm.', isError: false });
	expect(readText(events)).toContain('Be warm.');
	expect(events.at(-1)?.type).toBe('done');
});

test('a skill without a text is unknown to the model, and the run continues', async () => {
	const events = await allEvents(await send(await createSession('skilled'), 'Where has it gone?'));
	expect(events.find(({ type }) => type === 'tool_result')?.data).toMatchObject({
		output: 'Unknown skill: broken',
		isError: false,
	});
	expect(events.at(-1)?.type).toBe('done');
});

test('the list of agents has the published skills, without the broken entries', async () => {
	const { agents } = await (await request('/v1/agents')).json<{ agents: { name: string; skills: unknown[] }[] }>();
	expect(agents.find(({ name }) => name === 'skilled')?.skills).toEqual([
		{ name: 'tone', description: 'How we write.' },
		{ name: 'broken', description: 'Its text is gone.' },
	]);
});

import * as v from 'valibot';
import { expect, test } from 'vitest';
import { defineAgent } from '../../src/cloudflare/agent/define.ts';
import { skill, type Tool, tool } from '../../src/core/index.ts';
import { compareReplay } from '../../src/testing/index.ts';
import { writeRecording } from './recordings.ts';

let ran: string[] = [];

const make = (name: string): Tool => ({
	...tool.define({
		name,
		description: 'Pays.',
		inputSchema: v.object({}),
		fn: () => void ran.push(name),
	}),
	onRequest: () => void ran.push(`${name} onRequest`),
	onResult: () => void ran.push(`${name} onResult`),
});
const guide = skill.fromMarkdown('---\nname: guide\ndescription: How to pay.\n---\nPay.');
const agent = defineAgent({
	name: 'till',
	description: 'Pays.',
	tools: [make('constructor'), make('pay')],
	skills: [{ ...guide, tools: [make('of_skill')] }],
});
const call = (name: string) => ({ tool: name, input: {}, result: 'paid' });
const guideText = 'Pay.\n\nTools that you can call from your next turn on: of_skill.';
const recording = writeRecording({
	agent: 'till',
	turns: [
		{ user: 'Pay.' },
		[{ tool: 'read_skill', input: { name: 'guide' }, result: guideText }],
		[call('of_skill'), call('constructor'), call('pay')],
		'Paid.',
	],
});

test('the tools of skills, and tools named as parts of objects, repeat their recorded results', async () => {
	ran = [];
	const { divergence } = await compareReplay(recording, { agents: [agent], tools: {} });
	expect(divergence).toBeUndefined();
	expect(ran.filter((name) => !name.includes(' '))).toEqual([]);
	expect(ran).toHaveLength(6);
});

test('hooks do not run for recorded results, if the options say so', async () => {
	ran = [];
	const { divergence } = await compareReplay(recording, { agents: [agent], hooks: 'skip' });
	expect([divergence, ran]).toEqual([undefined, []]);
});

test('a tool of a skill runs live where the options name it', async () => {
	ran = [];
	const { divergence } = await compareReplay(recording, {
		agents: [agent],
		tools: { of_skill: 'live' },
		hooks: 'skip',
	});
	expect(ran).toContain('of_skill');
	expect(divergence).toMatchObject({ kind: 'result', tool: 'of_skill' });
});

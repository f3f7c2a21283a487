import { expect, test } from 'vitest';
import { defineAgent } from '../../../src/cloudflare/agent/define.ts';
import { findHolder, listMemoryTools } from '../../../src/cloudflare/agent/memory.ts';
import { listInsideTools, listToolNames } from '../../../src/cloudflare/agent/tool-names.ts';
import { createRunlet } from '../../../src/cloudflare/runlet/create.ts';
import { fn, tool, toolbox } from '../../../src/core/index.ts';

const named = (name: string, more: object = {}) =>
	tool.define({ name, description: 'A tool.', inputSchema: {}, fn: () => 1, ...more });
const agent = { name: 'a', description: 'A.' };

test('an agent with memory has the default memory tools, or only the memory tools that it names', () => {
	const all = defineAgent({ ...agent, memory: true });
	expect(listMemoryTools(all)).toEqual(['remember', 'recall', 'forget']);
	expect([...listToolNames(all)]).toEqual(expect.arrayContaining(['remember', 'recall', 'forget']));
	expect(listMemoryTools(defineAgent({ ...agent, memory: { tools: ['recall'] } }))).toEqual(['recall']);
	expect(listMemoryTools(defineAgent({ ...agent, memory: { tools: ['memory', 'memory'] } }))).toEqual(['memory']);
	for (const memory of [false, undefined]) expect(listMemoryTools(defineAgent({ ...agent, memory }))).toEqual([]);
});

test('refuses a tool with the name of a memory tool, and an unknown memory tool', () => {
	const remember = fn({ name: 'remember', params: [] }, () => 1);
	expect(() => defineAgent({ ...agent, memory: true, tools: [remember] })).toThrow(
		/^memory: brings a tool remember, .*Rename it/,
	);
	expect(defineAgent({ ...agent, memory: { tools: ['recall'] }, tools: [remember] }).tools).toHaveLength(1);
	expect(() => defineAgent({ ...agent, memory: { tools: [JSON.parse('"learn"')] } })).toThrow(/^memory.*remember/);
});

test.each([-1, 999, 20_001, Number.NaN])('refuses recallCharacters: %d', (recallCharacters) => {
	expect(() => defineAgent({ ...agent, memory: { recallCharacters } })).toThrow(/^memory.*1,000 to 20,000/);
	expect(defineAgent({ ...agent, memory: { recallCharacters: 1_000 } }).memory).toEqual({ recallCharacters: 1_000 });
});

test('an agent with memory needs the plugin memory, and the error says how to add it', () => {
	expect(() => createRunlet({ agents: [defineAgent({ ...agent, memory: true })] })).toThrow(
		/^memory: the agent a remembers, .*runlet\/cloudflare\/memory.*createRunlet\(\{ agents, plugins: \[memory\] \}\)/,
	);
});

test('a session uses its user’s memories, else its owner’s memories if the owner is a person, else none', () => {
	expect(findHolder({ owner: 'shop', user: 'ada', isOwners: true })).toEqual({ owner: 'shop', user: 'ada' });
	expect(findHolder({ owner: 'ada', isOwners: true })).toEqual({ owner: 'ada' });
	expect(findHolder({ owner: 'shop', isOwners: false })).toBeUndefined();
});

test('an agent’s tools bring no text from outside, except web tools and tools with `reads`', () => {
	const [brought, mail] = [named('brought'), named('brought_mail', { reads: 'outside' })];
	const inside = listInsideTools(
		defineAgent({
			...agent,
			memory: true,
			tools: [named('own'), named('with space'), named('mail', { reads: 'outside' }), ...toolbox.webTools()],
			skillTools: [named('later')],
			skills: [{ name: 's', description: 'S.', tools: [brought, mail] }],
		}),
	);
	for (const name of ['own', tool.providerName('with space'), 'later', 'brought', 'remember', 'read_skill'])
		expect(inside, name).toContain(name);
	for (const name of ['mail', 'brought_mail', 'web_fetch', 'web_search', 'of_a_client'])
		expect(inside, name).not.toContain(name);
});

import { expect, test } from 'vitest';
import { agentTool } from '../../../src/cloudflare/agent/agent-tool.ts';
import { defineAgent } from '../../../src/cloudflare/agent/define.ts';
import { listPrivateTools, listToolNames } from '../../../src/cloudflare/agent/tool-names.ts';
import { fn, tool } from '../../../src/core/index.ts';
import { builtinNames, createBuiltins } from '../../../src/core/skill/builtins.ts';
import { inMemoryResolver } from '../../../src/core/skill/index.ts';

test('an agent’s tool names include the tools of its skills, and the tools that read skills and results', () => {
	const [brought] = tool.forAgent([fn({ name: 'brought', params: [] }, () => 1)]);
	const agent = defineAgent({
		name: 'a',
		description: 'A.',
		tools: [
			fn({ name: 'own', params: [] }, () => 1),
			tool.define({ name: 'with space', description: '', inputSchema: {}, manual: true }),
		],
		skillTools: [fn({ name: 'later', params: [] }, () => 1)],
		skills: ['published', { name: 's', description: 'S.', tools: brought === undefined ? [] : [brought] }],
	});
	const names = listToolNames(agent);
	for (const name of [
		'own',
		'brought',
		'later',
		'read_skill',
		'search_tools',
		'read_result',
		tool.providerName('with space'),
	])
		expect(names, name).toContain(name);
	expect(names.size).toBe(6 + builtinNames.length);
});

test('the reserved names include every tool that reads skills', () => {
	const resolver = { ...inMemoryResolver([]), searchFn: () => [], hasFiles: true };
	expect(
		createBuiltins(resolver, {})
			.map(({ name }) => name)
			.toSorted(),
	).toEqual([...builtinNames].toSorted());
});

test.each([
	['memories', { memory: true }],
	[
		'an MCP server with private data',
		{ mcp: [{ name: 'mails', url: 'https://mails.example.com/mcp', private: true }] },
	],
])('the report of an agent with %s is private, also through an agent between', (_, own) => {
	const child = defineAgent({ name: 'child', description: 'Works.', ...own });
	const between = defineAgent({ name: 'between', description: 'Passes on.', tools: [agentTool(child)] });
	const other = defineAgent({ name: 'other', description: 'Knows nothing.' });
	const top = defineAgent({ name: 'top', description: 'Leads.', tools: [agentTool(between), agentTool(other)] });
	expect([...listPrivateTools(top, [top, between, child, other])]).toEqual(['between']);
});

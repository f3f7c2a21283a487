/** The agents of the hundred recorded sessions: the tools of the shop, an MCP server, and children in both forms. */
import * as v from 'valibot';
import { agentTool, spawn } from '../../src/cloudflare/agent/agent-tool.ts';
import { type Agent, defineAgent } from '../../src/cloudflare/agent/define.ts';
import { skill, tool, toolbox } from '../../src/core/index.ts';
import { createShop } from './shop.ts';

/** The models of the desk, one of each provider. */
export const models = ['claude-sonnet-4-5', 'gpt-5.4', 'gemini-3-pro-preview'] as const;

const weigh = tool.define({
	name: 'weigh',
	description: 'Weigh a parcel.',
	inputSchema: v.object({ grams: v.number() }),
	needsApproval: true,
	retry: 'safe',
	fn: (grams: number) => `${grams / 1_000} kg`,
});

const gift = tool.define({
	name: 'gift',
	description: 'Somebody else chooses a gift.',
	inputSchema: v.object({ for: v.string() }),
	manual: true,
});

/** The tools that the recorded replies of real models call. */
const called = [
	tool.define({
		name: 'searchDocs',
		description: 'Search the documents.',
		inputSchema: v.object({ query: v.string() }),
		retry: 'safe',
		fn: (query: string) => [`About ${query}.`],
	}),
	tool.define({
		name: 'calculator',
		description: 'Calculate.',
		inputSchema: v.object({ a: v.number(), b: v.number(), op: v.string() }),
		passInput: true,
		fn: ({ a, b, op }) => (op === 'add' ? a + b : a * b),
	}),
	tool.define({
		name: 'weather',
		description: 'Tell the weather.',
		inputSchema: v.object({ location: v.string() }),
		fn: (location: string) => ({ location, degrees: 21 }),
	}),
	tool.define({
		name: 'read_theme',
		description: 'Read the theme.',
		inputSchema: v.object({}),
		fn: () => 'dark',
	}),
	tool.define({
		name: 'read_screen',
		description: 'Read a screen.',
		inputSchema: v.object({ id: v.string() }),
		fn: (id: string) => `screen ${id}`,
	}),
];

const [wrap] = createShop().flatMap(({ name, tools }) => (name === 'replayed-packer' ? tools : []));

/** A packer for each provider. */
const [first, ...others] = models.map((model, at) =>
	defineAgent({
		name: `packer-${at}`,
		description: `Packs with ${model}.`,
		model,
		system: 'You pack parcels.',
		tools: [...(wrap === undefined ? [] : [wrap]), weigh],
	}),
);

/** Makes the agents of the desk. */
export function createDesk(): readonly Agent[] {
	if (first === undefined) return [];
	const packers = [first, ...others] as const;
	const desk = defineAgent({
		name: 'desk',
		description: 'Serves everybody.',
		model: models[0],
		models: [...models],
		system: ({ metadata }) => `You serve ${metadata.shop}. Be brief.`,
		tools: [
			...createShop()
				.flatMap(({ name, tools }) => (name === 'replayed-shop' ? tools : []))
				.filter(({ name }) => name !== 'pack'),
			...[gift, ...called, ...Object.values(toolbox.withFiles())],
			...packers.map((packer) => agentTool(packer, { maxAtOnce: 20 })),
			spawn(packers, { name: 'send_off', background: true }),
		],
		skills: [skill.fromMarkdown('---\nname: tone\ndescription: How we write.\n---\nBe kind.')],
		mcp: [{ name: 'depot', url: 'https://depot.example.com/mcp', needsApproval: ['buy'], safe: ['find'] }],
		maxIterations: 8,
	});
	return [desk, ...packers];
}

/** The agents of the replayed sessions. `createShop` makes them again, with changes. */
import * as v from 'valibot';
import { agentTool } from '../../src/cloudflare/agent/agent-tool.ts';
import { type Agent, type AgentDefinition, defineAgent } from '../../src/cloudflare/agent/define.ts';
import { askUser, chat, halt, skill, type Tool, tool } from '../../src/core/index.ts';
import { parts } from '../../src/core/tool/index.ts';

const id = v.pipe(v.string(), v.description('Its number, such as A-1'));

const findOrder = tool.define({
	name: 'find_order',
	description: 'Find an order.',
	inputSchema: v.object({ id }),
	passInput: true,
	fn: ({ id }) => {
		if (id === 'none') throw new Error('There is no such order.');
		return { id, cents: 8_000, status: 'sent' };
	},
});

const refund = tool.define({
	name: 'refund',
	description: 'Pay money back.',
	inputSchema: v.object({ id, euros: v.pipe(v.number(), v.maxValue(100)), why: v.optional(v.string()) }),
	passInput: true,
	needsApproval: ({ euros }) => Number(euros) > 50,
	onRequest: ({ euros }) => ['Refund', `${euros} euros`],
	onResult: (_, result) => ['Refunded', String(result)],
	fn: ({ id, euros }) => `${id}: ${euros * 100} cents`,
});

const note = tool.define({
	name: 'note',
	description: 'Note a text.',
	inputSchema: v.object({ text: v.string() }),
	passInput: true,
	fn: async ({ text }, { state }) => {
		const notes = [...((await state.get('notes', v.array(v.string()))) ?? []), text];
		await state.set('notes', notes);
		return notes.length;
	},
});

const readNotes = tool.define({
	name: 'read_notes',
	description: 'Read the notes.',
	inputSchema: v.object({}),
	passInput: true,
	fn: async (_, { state }) => (await state.get('notes')) ?? [],
});

const save = tool.define({
	name: 'save',
	description: 'Save a file.',
	inputSchema: v.object({ path: v.string(), text: v.string() }),
	passInput: true,
	fn: async ({ path, text }, { workspace }) => {
		await workspace?.write(path, text);
		return 'saved';
	},
});

const load = tool.define({
	name: 'load',
	description: 'Load a file.',
	inputSchema: v.object({ path: v.string() }),
	passInput: true,
	fn: async ({ path }, { workspace }) => new TextDecoder().decode(await workspace?.read(path)),
});

const askColor = tool.define({
	name: 'ask_color',
	description: 'Ask for a color.',
	inputSchema: v.object({}),
	fn: () => askUser('Which color?', { choices: ['red', 'blue'] }),
});

const picture = tool.define({
	name: 'picture',
	description: 'Show a picture.',
	inputSchema: v.object({}),
	fn: () => parts([chat.textPart('A dot.'), { kind: 'image', mime: 'image/png', data: 'iVBORw0KGgo=' }]),
});

const close = tool.define({
	name: 'close',
	description: 'Close the shop.',
	inputSchema: v.object({}),
	fn: () => halt('closed', 'Good night.'),
});

const wrap = tool.define({
	name: 'wrap',
	description: 'Wrap.',
	inputSchema: v.object({ paper: v.string() }),
	passInput: true,
	fn: ({ paper }) => `in ${paper}`,
});

/** The definitions of the agents, which a test may change. */
export interface Definitions {
	readonly shop: Omit<AgentDefinition, 'tools'> & { readonly tools: readonly Tool[] };
	readonly packer: Omit<AgentDefinition, 'tools'> & { readonly tools: readonly Tool[] };
}

const packer: Definitions['packer'] = {
	name: 'replayed-packer',
	description: 'Packs.',
	model: 'scripted',
	system: 'You pack parcels.',
	tools: [wrap],
};

const definitions: Definitions = {
	packer,
	shop: {
		name: 'replayed-shop',
		description: 'Serves customers.',
		model: 'scripted',
		system: ({ metadata }) => `You serve ${metadata.shop ?? 'a shop'}. Be brief.`,
		tools: [
			...[findOrder, refund, note, readNotes, save, load, askColor, picture, close],
			agentTool(defineAgent(packer), { name: 'pack' }),
		],
		skills: [skill.fromMarkdown('---\nname: tone\ndescription: How we write.\n---\nBe kind.')],
		maxIterations: 8,
		maxToolCalls: 12,
		budget: { tokens: 1_000_000 },
	},
};

/** Makes the agents of the shop. `change` changes their definitions. */
export function createShop(change: (definitions: Definitions) => Partial<Definitions> = () => ({})): readonly Agent[] {
	const { shop, packer } = { ...definitions, ...change(definitions) };
	return [defineAgent(shop), defineAgent(packer)];
}

/** Changes a tool of the shop. */
export function changeTool(name: string, change: (tool: Tool) => Tool | undefined): readonly Agent[] {
	return createShop(({ shop }) => ({
		shop: { ...shop, tools: shop.tools.flatMap((one) => (one.name === name ? (change(one) ?? []) : one)) },
	}));
}

import { memoize } from '../../../core/base/memoize.ts';
import type { MessageContext } from '../../../core/chat/index.ts';
import type { PromptRecord } from '../../../core/chat/prompt-record.ts';
import { listProviderTools } from '../../../core/chat/provider-tool.ts';
import { providerName, type Tool } from '../../../core/tool/index.ts';
import type { Agent } from '../../agent/define.ts';
import { listToolNames } from '../../agent/tool-names.ts';
import type { SentTool, Setup } from '../store/messages.ts';

/** Notes each change of the system prompt, the tools and the settings, with the first reply after the change. */
export class Setups {
	readonly #settings: Readonly<Record<string, unknown>>;
	readonly #isLoaded: (name: string) => boolean;
	#prompt: PromptRecord | undefined;
	#noted: unknown;

	/** @param last the newest request and the newest settings of the session */
	constructor(agent: Agent, last: { readonly prompt?: PromptRecord; readonly settings?: unknown }) {
		const own = listToolNames(agent);
		this.#isLoaded = (name) => !own.has(providerName(name));
		this.#settings = readSettings(agent);
		this.#prompt = last.prompt;
		this.#noted = last.settings;
	}

	/** Returns what changed since the message before. Returns nothing if nothing changed. */
	take({ prompt, sent }: Pick<MessageContext, 'prompt' | 'sent'>): Setup | undefined {
		if (prompt === undefined || sent === undefined) return undefined;
		const { system = '', tools = [] } = sent;
		const before = this.#prompt;
		this.#prompt = prompt;
		const hasNewTools = before?.tools.join() !== prompt.tools.join();
		const hasNewSettings = JSON.stringify(this.#noted) !== JSON.stringify(this.#settings);
		this.#noted = this.#settings;
		const setup = {
			...(before?.system !== prompt.system && { system }),
			...(hasNewTools && { tools: tools.map((tool) => describe(tool, this.#isLoaded(tool.name))) }),
			...(hasNewSettings && { settings: this.#settings }),
		};
		return Object.keys(setup).length > 0 ? setup : undefined;
	}
}

function describe({ name, description, inputSchema }: Tool, isLoaded: boolean): SentTool {
	return { name, description, inputSchema, ...(isLoaded && { isLoaded: true as const }) };
}

/** Returns the settings of an agent that are plain data, with the names of its skills and servers. */
export const readSettings = memoize((agent: Agent): Readonly<Record<string, unknown>> => {
	const { name: _, description: __, examples, system, tools, skillTools, skillResolver, webhooks, ...rest } = agent;
	const { approvers, onWaiting, schedules, outputSchema, providerTools, mcp, skills, ...plain } = rest;
	const names = {
		skills: skills === 'all' ? skills : skills.map((skill) => (typeof skill === 'string' ? skill : skill.name)),
		mcp: mcp?.map(({ name: server }) => server),
		providerTools: providerTools && listProviderTools({ providerTools }).map(({ type }) => type),
	};
	return JSON.parse(JSON.stringify({ ...plain, ...names }));
});

import type { MessageContext } from '../../../core/chat/index.ts';
import type { PromptRecord } from '../../../core/chat/prompt-record.ts';
import { searchName } from '../../../core/chat/tool-search.ts';
import { providerName, type Tool } from '../../../core/tool/index.ts';
import type { Agent } from '../../agent/define.ts';
import { readSettings } from '../../agent/settings.ts';
import { listToolNames } from '../../agent/tool-names.ts';
import type { SentTool, Setup } from '../store/setup.ts';
import { hasServers } from './load-tools.ts';

/** Notes each change of the system prompt, the tools and the settings, with the first reply after the change. */
export class Setups {
	readonly #settings: Readonly<Record<string, unknown>>;
	readonly #own: ReadonlySet<string>;
	readonly #loadsTools: boolean;
	#prompt: PromptRecord | undefined;
	#noted: unknown;

	/** @param last the newest request and the newest settings of the session */
	constructor(agent: Agent, last: { readonly prompt?: PromptRecord; readonly settings?: unknown }) {
		this.#own = listToolNames(agent);
		this.#loadsTools = agent.userTools === true || hasServers(agent);
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
		const hasNewSettings =
			this.#noted !== this.#settings && JSON.stringify(this.#noted) !== JSON.stringify(this.#settings);
		this.#noted = this.#settings;
		const setup = {
			...(before?.system !== prompt.system && { system }),
			...(hasNewTools && { tools: this.#describe(tools) }),
			...(hasNewSettings && { settings: this.#settings }),
		};
		return Object.keys(setup).length > 0 ? setup : undefined;
	}

	#describe(tools: readonly Tool[]): readonly SentTool[] {
		const isLoaded = ({ name }: Tool) => !this.#own.has(providerName(name));
		return tools.map((tool) => ({
			...{ name: tool.name, description: tool.description, inputSchema: tool.inputSchema },
			// The search is for the loaded tools that were not sent.
			...((isLoaded(tool) || (this.#loadsTools && tool.name === searchName)) && { isLoaded: true as const }),
		}));
	}
}

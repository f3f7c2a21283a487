import type { FlowSource, Labels } from '../../core/chat/flow.ts';
import { type Message, messageText } from '../../core/chat/message.ts';
import { type Label, providerName, type ToolCall } from '../../core/tool/index.ts';
import type { Agent } from './define.ts';
import { listInsideTools, listPrivateTools } from './tool-names.ts';

/** The tools of an agent by what their results may have, by the names that providers see. */
export interface ToolWords {
	/** The tools whose results have no text of strangers. */
	readonly inside: ReadonlySet<string>;
	/** The tools whose results may have data of the owner or of the user. */
	readonly private: ReadonlySet<string>;
	/** The prefixes of the tools of MCP servers that return only private data. */
	readonly privateServers?: readonly string[];
	/** Whether the model reads descriptions that MCP servers wrote. */
	readonly hasServers: boolean;
}

/** Without an agent, as in a session whose agent was removed, each result counts as text of strangers. */
export function listToolWords(agent: Agent | undefined, agents: readonly Agent[]): ToolWords {
	if (agent === undefined) return { inside: new Set(), private: new Set(), hasServers: false };
	const { mcp = [] } = agent;
	return {
		inside: listInsideTools(agent),
		private: listPrivateTools(agent, agents),
		privateServers: mcp.filter((server) => server.private === true).map(({ name }) => `${name}_`),
		hasServers: mcp.length > 0 || agent.userMcp === true,
	};
}

/** A message, and how it came. */
export interface LabelledMessage {
	readonly id: string;
	readonly message: Message;
	readonly inbound?: {
		readonly transport: string;
		readonly attachments?: readonly unknown[];
		/** What flowed into a message of another agent. */
		readonly labels?: readonly Label[];
	};
}

/** The transports of people and of the owner's own server. */
const ownTransports: ReadonlySet<string> = new Set([
	'http',
	'ui',
	'chat-completions',
	'responses',
	'messages',
	'ag-ui',
]);
/** The transports of texts that a model has written. */
export const modelTransports: ReadonlySet<string> = new Set(['agent', 'schedule']);

const longestSource = 200;

/** Reads what a message brings into a conversation. A call counts as soon as it is stored, because its result may be. */
export function readLabels({ id, message, inbound }: LabelledMessage, words: ToolWords): Labels {
	const outside: FlowSource[] = [];
	const own: FlowSource[] = [];
	const add = (list: FlowSource[], what: string): void => {
		list.push({ what: what.slice(0, longestSource), message: id });
	};
	const isOwn = inbound === undefined || ownTransports.has(inbound.transport);
	const carried = inbound?.labels ?? (isOwn ? [] : ['outside']);
	if (carried.includes('outside')) add(outside, `a message by ${inbound?.transport}`);
	if (carried.includes('private')) add(own, `a message by ${inbound?.transport}`);
	if (inbound?.attachments !== undefined && inbound.attachments.length > 0) add(outside, 'an attachment');
	if (message.role === 'user' && message.parts?.some(({ kind }) => kind !== 'text') === true)
		add(outside, 'an image or a file of a message');
	if (message.role !== 'assistant') return { outside, private: own };
	if ((message.providerCalls ?? []).length > 0) add(outside, 'a tool of the provider');
	for (const { name, input } of message.toolCalls ?? []) {
		const labels = listCallLabels(name, words);
		const what = `${name} ${JSON.stringify(input) ?? ''}`;
		if (labels.includes('outside')) add(outside, what);
		if (labels.includes('private')) add(own, what);
	}
	return { outside, private: own };
}

function isPrivate(name: string, { private: own, privateServers = [] }: ToolWords): boolean {
	return own.has(name) || privateServers.some((server) => name.startsWith(server));
}

/** Returns what the results of a tool may have. */
export function listCallLabels(name: string, words: ToolWords): readonly Label[] {
	const shown = providerName(name);
	return [
		...(words.inside.has(shown) ? [] : ['outside' as const]),
		...(isPrivate(shown, words) ? ['private' as const] : []),
	];
}

/**
 * Whether a text stands as a whole in what a person or a stranger wrote, so that no model composed it.
 *
 * @param call the call that a result answers. Leave it out if another agent worked for it
 */
export function isGivenBy(
	{ message, inbound }: LabelledMessage,
	text: string,
	words: ToolWords,
	call?: ToolCall,
): boolean {
	if (message.role === 'user')
		return !modelTransports.has(inbound?.transport ?? '') && hasWhole(messageText(message), text);
	if (message.role !== 'tool' || message.isError === true || call === undefined) return false;
	// A result can repeat what the model has composed.
	if (hasWhole(JSON.stringify(call.input) ?? '', text)) return false;
	return !words.inside.has(providerName(call.name)) && hasWhole(JSON.stringify(message.content) ?? '', text);
}

/** Whether a person wrote an address of the same site. */
export function givesSite({ message, inbound }: LabelledMessage, address: string): boolean {
	const isOfPerson = message.role === 'user' && (inbound === undefined || ownTransports.has(inbound.transport));
	return isOfPerson && listSites(messageText(message)).includes(new URL(address).origin);
}

function listSites(text: string): readonly string[] {
	return [...text.matchAll(/https?:\/\/[^\s"'<>`\\)\]]+/g)].flatMap(([url]) =>
		URL.canParse(url) ? new URL(url).origin : [],
	);
}

/** Whether a text has an address that ends where the address ends. */
function hasWhole(text: string, address: string): boolean {
	for (let at = text.indexOf(address); at !== -1; at = text.indexOf(address, at + 1)) {
		const rest = text.slice(at + address.length, at + address.length + 20);
		if (/^[.,;:!?)'\]]*(?:[\s"'<>\\)\]|`]|$)/.test(rest)) return true;
	}
	return false;
}

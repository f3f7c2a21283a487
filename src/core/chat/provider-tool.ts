import { hashText } from '../base/bytes.ts';
import { dropUndefined, isRecord } from '../base/json.ts';

/** A tool that the provider runs (docs/models.md, "Tools of the provider"). Other fields are passed on unchanged. */
export interface ProviderTool {
	/** Runlet's name of the tool, or the provider's own `type`, such as `web_search_20260209`. */
	readonly type: ProviderToolType | (string & {});
	/** The maximum number of uses in one reply. The default is 5. The price of all uses is reserved before the call. */
	readonly maxUses?: number;
	/** The only domains to search or fetch. */
	readonly allowedDomains?: readonly string[];
	readonly blockedDomains?: readonly string[];
	readonly [field: string]: unknown;
}

/** Runlet's names of tools that several providers have. Any other name is a provider's own. */
export const providerToolTypes = [
	'web_search',
	'web_fetch',
	'code_execution',
	'file_search',
	'mcp',
	'image_generation',
] as const;

export type ProviderToolType = (typeof providerToolTypes)[number];

export function isProviderToolType(type: string): type is ProviderToolType {
	return providerToolTypes.some((name) => name === type);
}

/** The tokens of input at which a provider shortens a conversation. */
export interface ProviderContext {
	/** From this number of tokens on, the provider leaves out results of older calls. The model cannot reopen them. */
	readonly clearResultsAt?: number;
	/** From this number of tokens on, the provider summarizes the conversation, at its price. */
	readonly compactAt?: number;
}

/** The provider features that an agent chooses. A provider ignores features that it does not have. */
export interface ProviderChoices {
	/** Tools that the provider runs. A name alone means the tool with its defaults. */
	readonly providerTools?: readonly (ProviderToolType | ProviderTool)[];
	/** The tier of service. Tiers differ in price and speed. */
	readonly serviceTier?: 'standard' | 'flex' | 'priority';
	/** Faster output at a higher price. */
	readonly speed?: 'fast';
	/** Where the model runs, such as `us`. */
	readonly region?: string;
	/** The provider's treatment of a long conversation, besides `oldResults` and `contextFull`. */
	readonly providerContext?: ProviderContext;
	/** An anonymous id of the end user. Providers use it to find abuse. */
	readonly endUser?: string;
	/**
	 * Whether the provider writes replies in the background and stores them until then (docs/costs.md, "Duration"). No
	 * by default.
	 */
	readonly background?: boolean;
}

/** The default limit for the uses of a tool in one reply. */
export const usualUses = 5;

export function pickChoices(choices: ProviderChoices): ProviderChoices {
	const { providerTools, serviceTier, speed, region, providerContext, endUser, background } = choices;
	return { providerTools, serviceTier, speed, region, providerContext, endUser, background };
}

export function listProviderTools({ providerTools = [] }: ProviderChoices): readonly ProviderTool[] {
	return providerTools.map((tool) => (typeof tool === 'string' ? { type: tool } : tool));
}

/** A call of a tool that the provider itself ran. Readers get it when it begins, and again with its output. */
export interface ProviderCall {
	readonly id: string;
	/** Runlet's name of the tool, such as `web_search`, else the provider's name. */
	readonly name: string;
	readonly input?: unknown;
	/** The result. Long texts are cut. */
	readonly output?: unknown;
	readonly isError?: boolean;
}

export function hasEnded({ output, isError }: Pick<ProviderCall, 'output' | 'isError'>): boolean {
	return output !== undefined || isError === true;
}

/** A source of a reply: a page or a document. Equal sources have equal ids. */
export interface Source {
	readonly id: string;
	readonly url?: string;
	readonly title?: string;
	/** The cited words. */
	readonly quote?: string;
}

/** Makes a source. Its id is a hash of its fields. */
export function createSource(fields: Omit<Source, 'id'>): Source {
	const { url, title, quote } = fields;
	const id = hashText(JSON.stringify([url, title, quote]));
	return dropUndefined({ id, url, title, quote: quote?.slice(0, mostQuote) });
}

/** Whether a person can follow the address of a source. */
export function isWebUrl(url: string | undefined): url is string {
	return url !== undefined && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
}

const mostQuote = 2_000;
const mostText = 4_000;
const mostItems = 50;

/** Cuts long texts and lists in the input or output of a call. Leaves out fields that only the provider can read. */
export function cutData(value: unknown, depth = 0): unknown {
	if (typeof value === 'string') return value.length > mostText ? `${value.slice(0, mostText)}…` : value;
	if (depth > 6) return undefined;
	if (Array.isArray(value)) return value.slice(0, mostItems).map((item) => cutData(item, depth + 1));
	if (!isRecord(value)) return value;
	const kept = Object.entries(value).filter(([key]) => !unreadable.test(key));
	return Object.fromEntries(kept.map(([key, field]) => [key, cutData(field, depth + 1)]));
}

const unreadable = /^(encrypted_\w+|signature|thoughtSignature|cache_control)$/;

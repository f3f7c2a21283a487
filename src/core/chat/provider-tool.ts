/**
 * A tool that the provider runs itself (docs/models.md, "Tools of the provider"). Other fields are the provider's own, such
 * as `user_location`, and are passed on as they are.
 */
export interface ProviderTool {
	/** Runlet's name of the tool, or the provider's own `type`, such as `web_search_20260209`. */
	readonly type: ProviderToolType | (string & {});
	/** The most uses in one reply. The default is 5. Their price is reserved before the call. */
	readonly maxUses?: number;
	/** The only domains that are searched or fetched. */
	readonly allowedDomains?: readonly string[];
	readonly blockedDomains?: readonly string[];
	readonly [field: string]: unknown;
}

/** The tools that several providers have. */
export type ProviderToolType =
	| 'web_search'
	| 'web_fetch'
	| 'code_execution'
	| 'file_search'
	| 'mcp'
	| 'image_generation';

/** At how many tokens of input a provider shortens a conversation. */
export interface ProviderContext {
	/** Leaves out the results of older calls. The model cannot open them again. */
	readonly clearResultsAt?: number;
	/** Sums up the conversation, at its price. */
	readonly compactAt?: number;
}

/** What an agent chooses of what its provider offers. A choice that a provider does not have is left out. */
export interface ProviderChoices {
	/** Tools that the provider runs. A name alone stands for the tool with its defaults. */
	readonly providerTools?: readonly (ProviderToolType | ProviderTool)[];
	/** The tier of service: cheaper and slower, or dearer and faster. */
	readonly serviceTier?: 'standard' | 'flex' | 'priority';
	/** Faster output at a higher price. */
	readonly speed?: 'fast';
	/** Where the model runs, such as `us`. */
	readonly region?: string;
	/** What the provider does to a long conversation. What it cannot do is left to `oldResults` and `contextFull`. */
	readonly providerContext?: ProviderContext;
	/** Who the answer is for, in a form that says nothing about them. Providers use it to find abuse. */
	readonly endUser?: string;
}

/** The uses of a tool in one reply if nothing else is said. */
export const usualUses = 5;

/** Returns what is chosen among other options. */
export function pickChoices(choices: ProviderChoices): ProviderChoices {
	const { providerTools, serviceTier, speed, region, providerContext, endUser } = choices;
	return { providerTools, serviceTier, speed, region, providerContext, endUser };
}

/** Returns the tools with their fields. */
export function listProviderTools({ providerTools = [] }: ProviderChoices): readonly ProviderTool[] {
	return providerTools.map((tool) => (typeof tool === 'string' ? { type: tool } : tool));
}

import * as v from 'valibot';
import type { PromptCache, ProviderChoices } from '../../core/chat/index.ts';
import { providerToolTypes } from '../../core/chat/provider-tool.ts';

/** An agent's choices among the features of its provider (docs/models.md). */
export interface AgentChoices extends Omit<ProviderChoices, 'endUser'> {
	/** Whether the provider gets a hash of the session's user, to detect abuse. No by default. */
	readonly endUser?: boolean;
	/** How long prompts stay in the provider's cache (docs/costs.md). By default the provider decides. */
	readonly cache?: PromptCache;
}

const domains = v.optional(v.array(v.pipe(v.string(), v.nonEmpty('must not be empty'))));

const tool = v.looseObject({
	type: v.pipe(v.string(), v.nonEmpty('must be the name of a tool, such as web_search')),
	maxUses: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100))),
	allowedDomains: domains,
	blockedDomains: domains,
});

const tokens = v.optional(v.pipe(v.number(), v.integer(), v.minValue(1_000)));

export const choicesEntries = {
	providerTools: v.optional(
		v.array(
			v.union([v.picklist(providerToolTypes), tool], `must be one of ${providerToolTypes.join(', ')}, or { type, … }`),
			'must be a list of tools of the provider, such as ["web_search"]',
		),
	),
	serviceTier: v.optional(v.picklist(['standard', 'flex', 'priority'])),
	speed: v.optional(v.picklist(['fast'])),
	region: v.optional(v.pipe(v.string(), v.nonEmpty('must be a region, such as us'))),
	providerContext: v.optional(v.strictObject({ clearResultsAt: tokens, compactAt: tokens })),
	endUser: v.optional(v.boolean('must be true or false')),
	background: v.optional(v.boolean('must be true or false')),
	cache: v.optional(
		v.union([v.picklist(['5m', '1h', 'auto']), v.literal(false)], "must be '5m', '1h', 'auto' or false"),
	),
};

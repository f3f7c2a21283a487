import { RunletError } from '../../base/errors.ts';
import { dropUndefined, isRecord } from '../../base/json.ts';
import { isProviderToolType, type ProviderTool } from '../../chat/provider-tool.ts';
import type { ToolForProvider } from '../../tool/index.ts';
import type { ModelRequest, WireTool } from './adapter.ts';
import { getObjects, type Json } from './json.ts';

export function createNoTool(
	provider: string,
	type: string,
	remedy = 'Leave it out, or choose a model of another provider',
): RunletError {
	return new RunletError('invalid_request', `providerTools: ${provider} has no ${type}. ${remedy}.`, {
		field: 'providerTools',
		provider,
	});
}

/** Throws `invalid_request` for a tool name of Runlet that the provider does not know. */
export function assertOwnType(provider: string, type: string): void {
	if (isProviderToolType(type)) throw createNoTool(provider, type);
}

/** Groups the tools by the call whose sent result introduced them. Returns no groups if calls introduced all tools. */
export function groupFoundTools({ tools, messages }: ModelRequest): ReadonlyMap<string, readonly WireTool[]> {
	const later = tools.filter(({ foundBy }) => foundBy !== undefined);
	const groups = new Map<string, WireTool[]>();
	if (later.length === tools.length) return groups;
	const sentIds = new Set(messages.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : [])));
	for (const tool of later) {
		const { foundBy = '' } = tool;
		if (sentIds.has(foundBy)) groups.set(foundBy, [...(groups.get(foundBy) ?? []), tool]);
	}
	return groups;
}

/** Throws `invalid_request` if a tool is limited to domains and the provider has no such limit. */
export function assertNoDomains(provider: string, tool: ProviderTool): void {
	const fields = ['allowedDomains', 'blockedDomains'] as const;
	const field = fields.find((name) => tool[name] !== undefined);
	if (field !== undefined) throw createNoTool(provider, `${field} for ${tool.type}`);
}

/** Converts the provider settings of a tool to fields of Anthropic's and OpenAI's APIs. */
export function toToolFields({ strict, deferLoading, allowedCallers }: ToolForProvider): Json {
	return dropUndefined({ strict, defer_loading: deferLoading, allowed_callers: allowedCallers });
}

/** Returns the arguments of a call for APIs that take only objects. */
export function toArguments(input: unknown): Json {
	return isRecord(input) ? input : { invalid_json: input };
}

/** The tokens that a use of a provider's tool may add to the input: a page of search results, a fetched page. */
const tokensOfUse = 10_000;

/** Counts the maximum input tokens: at each use of a tool, the model reads the input and all earlier results again. */
export function countMostInput(inputTokens: number, uses: number): number {
	return inputTokens * (uses + 1) + (tokensOfUse * uses * (uses + 1)) / 2;
}

/** Returns the tools of a body with their types. */
export function listToolTypes(body: Json): readonly { readonly type: string; readonly tool: Json }[] {
	return getObjects(body, 'tools').flatMap((tool) =>
		typeof tool.type === 'string' ? [{ type: tool.type, tool }] : [],
	);
}

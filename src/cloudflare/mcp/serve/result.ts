import type { CallToolResult, ContentBlock, ServerContext } from '@modelcontextprotocol/server';
import { truncateText } from '../../../core/base/text.ts';
import type { MessagePart } from '../../../core/chat/index.ts';
import { checkOutput } from '../../../core/tool/schema.ts';
import type { ListedTool, OutsideEnd } from '../../objects/outside-call.ts';

/** The maximum length of a result. */
const longestText = 1_000_000;

export function textResult(text: string, isError = false): CallToolResult {
	return { content: [{ type: 'text', text: truncateText(text, longestText) }], ...(isError && { isError }) };
}

/** With an output schema, adds structured content. If the value does not fit the schema, the result is an error. */
export async function toCallResult(
	{ output, isError, parts }: Extract<OutsideEnd, { readonly type: 'result' }>,
	{ name, outputSchema }: Pick<ListedTool, 'name' | 'outputSchema'>,
): Promise<CallToolResult> {
	const content = parts === undefined ? [toTextBlock(output)] : parts.map(toContentBlock);
	if (isError) return { content, isError: true };
	if (outputSchema === undefined) return { content };
	const checked = await checkOutput(outputSchema, output);
	if ('value' in checked) return { content, structuredContent: toStructured(output) };
	const problem = `The result of ${name} has not the form that it promises: ${checked.issues.slice(0, 5).join('; ')}`;
	return { content: [{ type: 'text', text: problem }, ...content], isError: true };
}

// The SDK's type allows only objects. Its codec converts any JSON value for each revision.
function toStructured(output: unknown): Record<string, unknown> {
	return output as Record<string, unknown>;
}

function toTextBlock(output: unknown): ContentBlock {
	const text = typeof output === 'string' ? output : (JSON.stringify(output) ?? '');
	return { type: 'text', text: truncateText(text, longestText) };
}

/** Bytes become an image, audio or a resource, and an address becomes a link. */
function toContentBlock({ kind, text = '', mime, data, url, name }: MessagePart, index: number): ContentBlock {
	if (kind === 'text' || kind === 'tool-result') return { type: 'text', text };
	const title = name ?? `${kind}-${index + 1}`;
	if (url !== undefined) return { type: 'resource_link', uri: url, name: title, ...(mime && { mimeType: mime }) };
	if (data === undefined) return { type: 'text', text: text === '' ? `[${kind}: ${title}]` : text };
	if (kind === 'image') return { type: 'image', data, mimeType: mime ?? 'image/png' };
	if (kind === 'audio') return { type: 'audio', data, mimeType: mime ?? 'audio/wav' };
	const uri = `attachment:///${encodeURIComponent(title)}`;
	return { type: 'resource', resource: { uri, blob: data, ...(mime && { mimeType: mime }) } };
}

export type Tell = (label: string, detail?: string) => Promise<void>;

/** Reports a tool's notes as log messages, and also as progress if the client has asked for it. */
export function createTell({ mcpReq }: ServerContext, tool: string): Tell {
	const progressToken = mcpReq._meta?.progressToken;
	let progress = 0;
	return async (label, detail) => {
		const message = detail === undefined ? label : `${label}: ${detail}`;
		await mcpReq.log('info', message, tool);
		if (progressToken === undefined) return;
		progress++;
		await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, message } });
	};
}

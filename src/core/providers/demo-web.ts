import { isRecord } from '../base/json.ts';
import { truncateText } from '../base/text.ts';
import { parseToolInput } from '../tool/call.ts';
import type { Tool } from '../tool/index.ts';
import type { Done, PlannedCall } from './demo-files.ts';

/** The model opens at most this many addresses of a message. */
const mostPages = 5;
/** A report shows at most this many characters of a page. */
const longestExcerpt = 600;

/** Plans the calls that read the addresses of a message, and write a report to the file that the message names. */
export function planReading(text: string, tools: readonly Tool[], done: readonly Done[]): readonly PlannedCall[] {
	const has = (name: string) => tools.some((tool) => tool.name === name);
	const found = [...text.matchAll(/\bhttps?:\/\/[^\s"'<>()]{1,500}/g)].map(([address]) =>
		address.replace(/[.,;:!?]$/, ''),
	);
	if (!has('web_fetch') || found.length === 0) return [];
	const reads = [...new Set(found)].slice(0, mostPages).map((url) => ({ tool: 'web_fetch', input: { url } }));
	const rest = found.reduce((left, address) => left.replace(address, ' '), text);
	const [path] = /[\w./-]{1,200}\.(?:md|txt)\b/.exec(rest) ?? [];
	const answers = reads.flatMap(({ input }) => {
		const answer = done.find(({ call }) => isRecord(call.input) && call.input.url === input.url);
		return answer === undefined ? [] : [{ url: input.url, answer }];
	});
	const isWritten = path !== undefined && has('write_file') && answers.length === reads.length;
	if (!isWritten) return reads;
	const report = ['# Report', ...answers.map(({ url, answer }) => describePage(url, answer))].join('\n\n');
	return [...reads, { tool: 'write_file', input: { path, text: `${report}\n` } }];
}

/** Describes the outcome of a call for pages. */
export function reportReading({ call, output, isError }: Done): string | undefined {
	if (isError) return undefined;
	const result = parseToolInput(output);
	if (!isRecord(result)) return undefined;
	if (call.name === 'write_file') return `I have written ${result.path}.`;
	return call.name === 'web_fetch' ? `I have read ${result.title ?? result.url}.` : undefined;
}

function describePage(url: string, { output, isError }: Done): string {
	const page = isError ? undefined : parseToolInput(output);
	if (!isRecord(page)) return `## ${url}\n\nIt could not be read: ${truncateText(output, longestExcerpt)}`;
	const text = String(page.text ?? '');
	const excerpt = text.length > longestExcerpt ? `${truncateText(text, longestExcerpt)} …` : text;
	const quoted = excerpt.split('\n').map((line) => `> ${line}`.trim());
	return `## ${page.title ?? url}\n\n${page.url ?? url}\n\n${quoted.join('\n')}`;
}

import { RunletError } from '../../../../core/base/errors.ts';
import { assertPublicUrl } from '../../../../core/base/public-fetch.ts';

/** The receiver of a run's answer: a person in Slack, or a GitHub issue. It is stored in place of a callback's URL. */
export type ReplyTarget =
	| { readonly kind: 'slack'; readonly url: string; readonly isPublic: boolean }
	| { readonly kind: 'github'; readonly repository: string; readonly issue: number };

/** The end of each comment that Runlet posts. By this text a mapping recognises Runlet's comments. */
export const commentMark = '<!-- runlet -->';

/** The maximum number of characters of a text for Slack and for GitHub. */
const longest = { slack: 39_000, github: 65_000 } as const;

export function formatReplyTarget(target: ReplyTarget): string {
	if (target.kind === 'slack') return `slack:${target.isPublic ? 'in_channel' : 'ephemeral'}:${target.url}`;
	return `github:${target.repository}#${target.issue}`;
}

/** Returns undefined for the URL of a callback. */
export function parseReplyTarget(text: string): ReplyTarget | undefined {
	const slack = /^slack:(in_channel|ephemeral):(.{1,2100})$/.exec(text);
	if (slack !== null) return { kind: 'slack', isPublic: slack[1] === 'in_channel', url: slack[2] ?? '' };
	const github = /^github:([\w.-]{1,100}\/[\w.-]{1,100})#(\d{1,15})$/.exec(text);
	return github === null ? undefined : { kind: 'github', repository: github[1] ?? '', issue: Number(github[2]) };
}

/** Throws `invalid_request` if a URL is not a `response_url` of Slack. The local mode also allows this machine. */
export function assertSlackUrl(url: string, allowLoopback: boolean): string {
	const { href, hostname } = assertPublicUrl(url, { allowLoopback, field: 'responseUrl' });
	if (hostname === 'hooks.slack.com' || (allowLoopback && /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)))
		return href;
	throw new RunletError('invalid_request', 'responseUrl: expected an address of https://hooks.slack.com.', {
		field: 'responseUrl',
	});
}

export interface GithubAccess {
	readonly token: string | undefined;
	readonly baseURL: string;
}

/** Throws `not_configured` if GitHub's token is missing. */
export function toReplyRequest(target: ReplyTarget, text: string, github: GithubAccess) {
	const json = { 'content-type': 'application/json', 'user-agent': 'runlet' };
	if (target.kind === 'slack') {
		const { url, isPublic } = target;
		const shown = escapeSlack(text).slice(0, longest.slack);
		const body = { response_type: isPublic ? 'in_channel' : 'ephemeral', replace_original: false, text: shown };
		return { url, headers: json, body: JSON.stringify(body) };
	}
	if (github.token === undefined)
		throw new RunletError('not_configured', 'GITHUB_TOKEN: not set, so no comment can be posted.');
	const url = `${github.baseURL}/repos/${target.repository}/issues/${target.issue}/comments`;
	const authorization = `Bearer ${github.token}`;
	const headers = { ...json, accept: 'application/vnd.github+json', authorization };
	return { url, headers, body: JSON.stringify({ body: `${text.slice(0, longest.github)}\n\n${commentMark}` }) };
}

/** Escapes the commands of Slack, such as `<!channel>`: https://docs.slack.dev/messaging/formatting-message-text */
function escapeSlack(text: string): string {
	return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Whether a retry can succeed. An address that is used up, or a token without the permission, fails again. */
export function mayPostAgain(status: number): boolean {
	return status === 408 || status === 429 || status >= 500;
}

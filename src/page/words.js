/**
 * What a run says, in words: for the page and for the terminal.
 *
 * @import { RunEvent, Usage } from './session.js'
 */

/**
 * @param {unknown} content of a message: a text, or parts of which the texts count
 * @returns {string}
 */
export function toText(content) {
	if (typeof content === 'string') return content;
	if (!Array.isArray(content)) return '';
	return content.map((part) => part?.text ?? `[${part?.name ?? part?.kind ?? 'part'}]`).join('\n\n');
}

/**
 * What a person said, without the files that came with it: these stand in the last parts.
 *
 * @param {import('./session.js').Message} message
 * @returns {string}
 */
export function saidIn({ content, parts = [], attachments = [] }) {
	if (attachments.length === 0) return toText(content);
	return toText(parts.slice(0, Math.max(0, parts.length - attachments.length)));
}

/**
 * @param {number} bytes
 * @returns {string} such as 1.2 MB
 */
export function describeSize(bytes) {
	if (bytes < 1_000) return bytes === 1 ? '1 byte' : `${bytes} bytes`;
	if (bytes < 999_500) return `${Math.round(bytes / 1_000)} KB`;
	return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/**
 * @param {string} name of a tool that was called
 * @param {unknown} input
 * @returns {string | undefined} the skill that the call uses, if it is one that uses a skill
 */
export function findSkillName(name, input) {
	if (name !== 'read_skill' && name !== 'apply_skill') return undefined;
	const skill = typeof input === 'object' && input !== null && 'name' in input ? input.name : undefined;
	return typeof skill === 'string' ? skill : undefined;
}

/**
 * @param {string} json the whole input of a tool call, as it was streamed
 * @returns {unknown} the value; the text itself where it is not JSON; `{}` for nothing
 */
export function parseInput(json) {
	if (json.trim() === '') return {};
	try {
		return JSON.parse(json);
	} catch {
		return json;
	}
}

/**
 * @param {Usage | undefined} usage
 * @returns {string} in words; empty where nothing is known
 */
export function describeUsage(usage) {
	const parts = [];
	const count = (/** @type {number} */ tokens) => tokens.toLocaleString('en');
	if (usage?.inputTokens !== undefined) parts.push(`${count(usage.inputTokens)} tokens in`);
	if (usage?.outputTokens !== undefined) parts.push(`${count(usage.outputTokens)} out`);
	if (usage?.costUsd) parts.push(`$${usage.costUsd.toFixed(usage.costUsd < 0.01 ? 5 : 2)}`);
	return parts.join(' · ');
}

/**
 * @param {Extract<RunEvent, { type: 'awaiting' }>} event
 * @returns {string} what the run waits for
 */
export function describeAwaiting({ question, toolCalls = [] }) {
	const text = typeof question === 'string' ? question : question?.question;
	if (text) return text;
	const listNames = (/** @type {boolean} */ isApproval) =>
		toolCalls
			.filter(({ kind }) => (kind === 'approval') === isApproval)
			.map(({ name }) => name)
			.join(', ');
	const [results, approvals] = [listNames(false), listNames(true)];
	const waits = [
		...(results ? [`for the result of ${results}`] : []),
		...(approvals ? [`for somebody to allow ${approvals}`] : []),
	];
	return waits.length > 0 ? `The run waits ${waits.join(', and ')}.` : 'The run stopped after a step.';
}

/**
 * @param {string} reason of a `halted` event
 * @returns {string}
 */
export function describeHalt(reason) {
	if (reason === 'budget_exceeded') return 'Stopped: the budget of this session is used up.';
	return `Stopped by the agent: ${reason}.`;
}

/**
 * @param {string} reason of a `stop` event
 * @returns {string | undefined} for those that a reader should know of
 */
export function describeStop(reason) {
	if (reason === 'max_tokens') return 'The answer was cut off: it reached the limit of output tokens.';
	if (reason === 'refusal') return 'The model declined to answer.';
	return undefined;
}

/**
 * @param {import('./session.js').Agent} agent
 * @returns {string} its model, and what is missing for it to answer
 */
export function describeModel({ model = '', models = [] }) {
	const about = models.find(({ name }) => name === model);
	if (about === undefined || about.ready) return model;
	return about.needs === undefined ? `${model} (no provider knows it)` : `${model} (not ready: set ${about.needs})`;
}

/**
 * @param {import('./session.js').Answer} answer
 * @returns {string}
 */
export function describeAnswer(answer) {
	if (!('approve' in answer)) return toText(answer.output);
	if (answer.approve) return 'Allowed';
	return answer.reason ? `Denied: ${answer.reason}` : 'Denied';
}

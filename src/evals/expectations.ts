import { isRecord } from '../core/base/json.ts';
import { truncateText } from '../core/base/text.ts';
import { providerName } from '../core/tool/index.ts';
import { type AnySchema, checkOutput, isSchema } from '../core/tool/schema.ts';
import type { EvalCall, ScorerArgs } from './define.ts';

/** An expectation of this module. It says why it is not fulfilled. */
export type Expectation = (args: Pick<ScorerArgs, 'output' | 'session'>) => Outcome | Promise<Outcome>;

interface Outcome {
	readonly score: 0 | 1;
	readonly metadata?: { readonly reason: string };
}

/**
 * Expects that the model called a tool. `input` has the least arguments of the call, at any depth, or is a function
 * that returns true for them.
 */
export function calledTool(name: string, input?: unknown): Expectation {
	const fits = (given: unknown) =>
		input === undefined || (isFunction(input) ? input(given) === true : has(given, input));
	const what = typeof input === 'object' ? `, ${show(input)}` : '';
	return named(`calledTool(${name}${what})`, ({ session }) => {
		const calls = session.calls.filter((call) => isCallTo(call, name));
		if (calls.some((call) => fits(call.input))) return fulfilled;
		if (calls.length > 0) return missed(`called with ${calls.map((call) => show(call.input)).join(', ')}.`);
		return missed(`not called. Calls: ${session.calls.map((call) => call.name).join(', ') || 'none'}.`);
	});
}

/** Expects that the model did not call a tool, whether or not the call then ran. */
export function neverCalled(name: string): Expectation {
	return named(`neverCalled(${name})`, ({ session }) => {
		const call = session.calls.find((one) => isCallTo(one, name));
		return call === undefined ? fulfilled : missed(`called with ${show(call.input)}.`);
	});
}

/** Expects that the trial cost less US dollars. An unknown cost does not fulfil it. */
export function costBelow(usd: number): Expectation {
	return named(`costBelow(${usd})`, ({ session: { costUsd, unpriced } }) => {
		if (costUsd === undefined)
			return missed(`the cost is unknown, because ${unpriced ?? 'a model'} has no price. PRICES gives it one.`);
		return costUsd < usd ? fulfilled : missed(`it cost $${costUsd}.`);
	});
}

/** Expects that the model took fewer turns. */
export function stepsBelow(count: number): Expectation {
	return named(`stepsBelow(${count})`, ({ session: { steps } }) =>
		steps < count ? fulfilled : missed(`it took ${steps}.`),
	);
}

/**
 * Expects that the answer contains a text, matches an expression, fits a schema (the answer is then JSON, or else a
 * text), or that a function returns true for it.
 */
export function output(wanted: string | RegExp | AnySchema | ((output: string) => unknown)): Expectation {
	const isText = typeof wanted === 'string' || wanted instanceof RegExp;
	return named(isText ? `output(${String(wanted)})` : 'output', async ({ output: said }) => {
		const about = show(said);
		if (typeof wanted === 'string') return said.includes(wanted) ? fulfilled : missed(`${about} does not contain it.`);
		if (wanted instanceof RegExp) return said.search(wanted) >= 0 ? fulfilled : missed(`${about} has no match.`);
		if (!isSchema(wanted)) return (await wanted(said)) === true ? fulfilled : missed(`the function refuses ${about}.`);
		const checked = await checkOutput(wanted, parse(said));
		return 'value' in checked ? fulfilled : missed(checked.issues.join('; '));
	});
}

const fulfilled: Outcome = { score: 1 };

function missed(reason: string): Outcome {
	return { score: 0, metadata: { reason } };
}

/** Gives a function a name, by which reports show it. */
function named(name: string, expectation: Expectation): Expectation {
	return Object.defineProperty(expectation, 'name', { value: name });
}

function isFunction(value: unknown): value is (input: unknown) => unknown {
	return typeof value === 'function';
}

/** Whether a call names a tool. Models know some tools by another name. */
function isCallTo(call: EvalCall, tool: string): boolean {
	return call.name === tool || call.name === providerName(tool);
}

/** Whether a value has everything that another one has. Lists have to be as long. */
function has(value: unknown, part: unknown): boolean {
	if (Array.isArray(part))
		return Array.isArray(value) && value.length === part.length && part.every((one, at) => has(value[at], one));
	if (!isRecord(part)) return Object.is(value, part);
	return isRecord(value) && Object.entries(part).every(([name, one]) => has(value[name], one));
}

function parse(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return text;
	}
}

function show(value: unknown): string {
	return truncateText(JSON.stringify(value) ?? 'nothing', 200);
}

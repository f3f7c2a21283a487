import { isRecord } from '../../base/json.ts';
import { truncateText } from '../../base/text.ts';
import type { Compiled } from './compile.ts';
import type { JsonSchema } from './keywords.ts';
import { countCharacters, equals, findNumberIssues, fitsFormat, getType, isOfType, toCanonicalText } from './values.ts';

/** The maximum work of one check, counted in visited schemas and values. It takes about 50 ms. */
const maxWork = 100_000;

/** The maximum depth of nested schemas during a check. */
const maxDepth = 600;

const maxIssues = 50;

/** The maximum length of a value in a report, in characters. */
const maxShown = 300;

interface Issue {
	readonly path: readonly string[];
	readonly message: string;
}

/** The names in an object, or the indices in a list, that were checked. */
type Seen = Set<string> | undefined;

/**
 * Checks an input against a JSON Schema (2020-12). Returns one line for each mistake. A line begins with the path of
 * the mistake. The time of a check is limited: an input that takes longer counts as invalid.
 */
export function findIssues(compiled: Compiled, input: unknown): readonly string[] {
	const check = new Check(compiled);
	try {
		check.fits(compiled.root, input, compiled.tracks ? new Set() : undefined);
	} catch (error) {
		if (error instanceof TooMuch) return [error.message];
		throw error;
	}
	return check.issues.map(({ path, message }) => (path.length === 0 ? message : `${path.join('.')}: ${message}`));
}

class TooMuch extends Error {}

class Check {
	issues: Issue[] = [];
	readonly #compiled: Compiled;
	readonly #path: string[] = [];
	readonly #shown = new Map<unknown, string>();
	#work = 0;
	#depth = 0;

	constructor(compiled: Compiled) {
		this.#compiled = compiled;
	}

	/** Whether the value fits. Adds mistakes to `issues`, and checked names and indices to `seen`. */
	fits(schema: unknown, value: unknown, seenBefore: Seen): boolean {
		this.#spend(1);
		if (typeof schema === 'boolean') return schema || this.#report('not allowed here. Leave it out.');
		if (!isRecord(schema)) return true;
		if (++this.#depth > maxDepth)
			throw new TooMuch('The arguments are nested too deep to be checked. Make them simpler.');
		// The `unevaluated…` keywords apply to names and indices that no inner schema has checked.
		const asks = 'unevaluatedProperties' in schema || 'unevaluatedItems' in schema;
		const seen = asks ? new Set<string>() : seenBefore;
		// Each of these checks reports its own mistakes, so all of them run.
		const target = this.#compiled.references.get(schema);
		let fits = target === undefined || this.fits(target, value, seen);
		fits = this.#isOfType(schema, value) && fits;
		fits = this.#isAllowed(schema, value) && fits;
		fits = this.#fitsChoices(schema, value, seen) && fits;
		if (typeof value === 'number') fits = this.#fitsNumber(schema, value) && fits;
		else if (typeof value === 'string') fits = this.#fitsText(schema, value) && fits;
		else if (Array.isArray(value)) fits = this.#fitsList(schema, value, seen) && fits;
		else if (isRecord(value)) fits = this.#fitsObject(schema, value, seen) && fits;
		if (asks) for (const one of seen ?? []) seenBefore?.add(one);
		this.#depth--;
		return fits;
	}

	#isOfType({ type }: JsonSchema, value: unknown): boolean {
		if (type === undefined) return true;
		if (isOfType(type, value)) return true;
		const expected = [type].flat();
		if (expected.some((one) => isOfType(one, value))) return true;
		return this.#report(`expected ${expected.join(' or ')}, got ${getType(value)}`);
	}

	#isAllowed(schema: JsonSchema, value: unknown): boolean {
		const { enum: options } = schema;
		const isIn = !Array.isArray(options) || options.some((option) => equals(option, value, this.#spend));
		const isIt = !('const' in schema) || equals(schema.const, value, this.#spend);
		if (!isIn) this.#report(`expected one of ${this.#show(options).slice(1).replace(/\]$/, '')}`);
		return (isIt || this.#report(`expected ${this.#show(schema.const)}`)) && isIn;
	}

	/** Formats a value of the schema for a report. Each value is formatted once. */
	#show(value: unknown): string {
		const known = this.#shown.get(value);
		if (known !== undefined) return known;
		const text = JSON.stringify(value) ?? 'nothing';
		const short = text.length > maxShown ? `${truncateText(text, maxShown)} …` : text;
		this.#shown.set(value, short);
		return short;
	}

	#fitsChoices(schema: JsonSchema, value: unknown, seen: Seen): boolean {
		const { allOf, anyOf, oneOf, not } = schema;
		let fits = true;
		if (Array.isArray(allOf)) for (const one of allOf) fits = this.fits(one, value, seen) && fits;
		if (Array.isArray(anyOf)) fits = this.#fitsSome(anyOf, value, seen, anyOf.length) && fits;
		if (Array.isArray(oneOf)) fits = this.#fitsSome(oneOf, value, seen, 1) && fits;
		if (not !== undefined && this.#test(not, value, undefined))
			fits = this.#report('has a form that is not allowed here');
		if (schema.if !== undefined) {
			const next = this.#test(schema.if, value, seen) ? schema.then : schema.else;
			if (next !== undefined) fits = this.fits(next, value, seen) && fits;
		}
		return fits;
	}

	/** Whether at least one and at most `most` schemas fit. If none fits, reports the nearest schema's mistakes. */
	#fitsSome(schemas: readonly unknown[], value: unknown, seen: Seen, most: number): boolean {
		const before = this.issues;
		let nearest: readonly Issue[] | undefined;
		let count = 0;
		for (const schema of schemas) {
			this.issues = [];
			const found: Seen = seen && new Set();
			if (this.fits(schema, value, found)) {
				count++;
				for (const one of found ?? []) seen?.add(one);
			} else if (nearest === undefined || isNearer(this.issues, nearest)) nearest = this.issues;
		}
		this.issues = before;
		if (count > most) return this.#report(`fits ${count} of the forms that are possible here, and must fit one only`);
		if (count === 0) this.issues = [...before, ...(nearest ?? [])].slice(0, maxIssues);
		return count > 0;
	}

	#test(schema: unknown, value: unknown, seen: Seen): boolean {
		const before = this.issues;
		this.issues = [];
		const found: Seen = seen && new Set();
		const fits = this.fits(schema, value, found);
		if (fits) for (const one of found ?? []) seen?.add(one);
		this.issues = before;
		return fits;
	}

	#fitsNumber(schema: JsonSchema, value: number): boolean {
		let fits = true;
		for (const issue of findNumberIssues(schema, value)) fits = this.#report(issue);
		return fits;
	}

	#fitsText({ minLength, maxLength, pattern, format }: JsonSchema, value: string): boolean {
		this.#spend(value.length / 500);
		let fits = true;
		if (minLength !== undefined && countCharacters(value) < Number(minLength))
			fits = this.#report(`expected at least ${minLength} characters`);
		if (maxLength !== undefined && countCharacters(value) > Number(maxLength))
			fits = this.#report(`expected at most ${maxLength} characters`);
		if (typeof pattern === 'string' && !this.#matches(pattern, value))
			fits = this.#report(`does not match the pattern ${truncateText(pattern, maxShown)}`);
		if (typeof format === 'string' && !fitsFormat(format, value)) fits = this.#report(`is not of the format ${format}`);
		return fits;
	}

	#matches(source: string, text: string): boolean {
		const pattern = this.#compiled.patterns.get(source);
		if (pattern === undefined) return true;
		// A step of a pattern costs less than visiting a value.
		this.#spend((pattern.steps * (text.length + 1)) / 25);
		return pattern.matches(text);
	}

	#fitsList(schema: JsonSchema, value: readonly unknown[], seen: Seen): boolean {
		const { prefixItems, items, contains, minItems, maxItems, uniqueItems, unevaluatedItems } = schema;
		let fits = true;
		if (value.length < Number(minItems ?? 0))
			fits = this.#report(`expected at least ${minItems} entries, got ${value.length}`);
		if (value.length > Number(maxItems ?? Infinity))
			fits = this.#report(`expected at most ${maxItems} entries, got ${value.length}`);
		const first: readonly unknown[] = Array.isArray(prefixItems) ? prefixItems : [];
		for (const [index, entry] of value.entries()) {
			if (index >= first.length && items === undefined) break;
			seen?.add(String(index));
			fits = this.#isWithin(String(index), first[index] ?? items, entry) && fits;
		}
		if (contains !== undefined) fits = this.#hasEnough(schema, value, seen) && fits;
		if (uniqueItems === true) fits = this.#isUnique(value) && fits;
		if (unevaluatedItems !== undefined)
			for (const [index, entry] of value.entries()) {
				if (seen?.has(String(index))) continue;
				seen?.add(String(index));
				fits = this.#isWithin(String(index), unevaluatedItems, entry) && fits;
			}
		return fits;
	}

	#hasEnough(
		{ contains, minContains = 1, maxContains = Infinity }: JsonSchema,
		value: readonly unknown[],
		seen: Seen,
	): boolean {
		const found = value.flatMap((entry, index) => (this.#test(contains, entry, seen && new Set()) ? [index] : []));
		for (const index of found) seen?.add(String(index));
		if (found.length >= Number(minContains) && found.length <= Number(maxContains)) return true;
		const most = maxContains === Infinity ? '' : ` and at most ${maxContains}`;
		return this.#report(
			`expected at least ${minContains}${most} entries of the form that it must contain, got ${found.length}`,
		);
	}

	#isUnique(value: readonly unknown[]): boolean {
		const known = new Set<string>();
		for (const entry of value) {
			const text = toCanonicalText(entry, this.#spend);
			if (known.has(text)) return this.#report('expected entries that differ from each other');
			known.add(text);
		}
		return true;
	}

	#fitsObject(schema: JsonSchema, value: Readonly<Record<string, unknown>>, seen: Seen): boolean {
		const keys = Object.keys(value);
		this.#spend(keys.length);
		let fits = this.#hasNames(schema, value, keys);
		const { properties, patternProperties, additionalProperties, unevaluatedProperties, propertyNames } = schema;
		const known = isRecord(properties) ? properties : {};
		const patterns = Object.entries(isRecord(patternProperties) ? patternProperties : {});
		for (const key of keys) {
			const own = Object.hasOwn(known, key) ? [known[key]] : [];
			const matched = patterns.flatMap(([source, inner]) => (this.#matches(source, key) ? [inner] : []));
			const rest = own.length + matched.length > 0 || additionalProperties === undefined ? [] : [additionalProperties];
			const inner = [...own, ...matched, ...rest];
			if (inner.length > 0) seen?.add(key);
			for (const one of inner) fits = this.#isWithin(key, one, value[key]) && fits;
			if (propertyNames !== undefined) fits = this.#isWithin(key, propertyNames, key) && fits;
		}
		const { dependentSchemas } = schema;
		for (const [key, inner] of Object.entries(isRecord(dependentSchemas) ? dependentSchemas : {}))
			if (Object.hasOwn(value, key)) fits = this.fits(inner, value, seen) && fits;
		if (unevaluatedProperties !== undefined)
			for (const key of keys) {
				if (seen?.has(key)) continue;
				seen?.add(key);
				fits = this.#isWithin(key, unevaluatedProperties, value[key]) && fits;
			}
		return fits;
	}

	#hasNames(schema: JsonSchema, value: Readonly<Record<string, unknown>>, keys: readonly string[]): boolean {
		const { required, dependentRequired, minProperties, maxProperties } = schema;
		let fits = true;
		const ask = (names: unknown, why: string): void => {
			for (const name of Array.isArray(names) ? names : []) {
				this.#spend(1);
				if (Object.hasOwn(value, name)) continue;
				this.#path.push(name);
				fits = this.#report(`missing${why}`);
				this.#path.pop();
			}
		};
		ask(required, '');
		for (const [key, names] of Object.entries(isRecord(dependentRequired) ? dependentRequired : {}))
			if (Object.hasOwn(value, key)) ask(names, `, as ${key} is given`);
		if (keys.length < Number(minProperties ?? 0)) fits = this.#report(`expected at least ${minProperties} properties`);
		if (keys.length > Number(maxProperties ?? Infinity))
			fits = this.#report(`expected at most ${maxProperties} properties`);
		return fits;
	}

	#isWithin(key: string, schema: unknown, value: unknown): boolean {
		this.#path.push(key);
		const fits = this.fits(schema, value, this.#compiled.tracks ? new Set() : undefined);
		this.#path.pop();
		return fits;
	}

	#report(message: string): false {
		if (this.issues.length < maxIssues) this.issues.push({ path: [...this.#path], message });
		return false;
	}

	readonly #spend = (work: number): void => {
		this.#work += work;
		if (this.#work > maxWork)
			throw new TooMuch('The arguments are too large to be checked by the schema. Send less, or simpler values.');
	};
}

/** Compares two schemas by their mistakes. A deeper first mistake is nearer. At equal depth, fewer are nearer. */
function isNearer(issues: readonly Issue[], than: readonly Issue[]): boolean {
	const depth = (of: readonly Issue[]): number => of[0]?.path.length ?? 0;
	return depth(issues) === depth(than) ? issues.length < than.length : depth(issues) > depth(than);
}

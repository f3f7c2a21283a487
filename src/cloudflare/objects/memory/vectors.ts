import type { DurableObjectStorage } from '@cloudflare/workers-types';
import type { MemoryRecord, MemoryVector } from './api.ts';

/** The cosine of a result is at least this share of the nearest memory's cosine, and at least `leastCosine`. */
const [leastShare, leastCosine] = [0.75, 0.2];

type VectorRow = { path: string; value: ArrayBuffer };

/** The vectors of memories. A vector is valid until the version of its memory changes. */
export class MemoryVectors {
	readonly #sql: DurableObjectStorage['sql'];

	constructor(sql: DurableObjectStorage['sql']) {
		this.#sql = sql;
	}

	listMissing(model: string, limit: number): readonly Pick<MemoryRecord, 'path' | 'version' | 'text'>[] {
		return this.#sql
			.exec<{ path: string; version: string; text: string }>(
				`SELECT path, memory.version, text FROM memory LEFT JOIN vector ON vector.version = memory.version AND model = ?
				WHERE model IS NULL ORDER BY updated_at DESC LIMIT ?`,
				model,
				limit,
			)
			.toArray();
	}

	dropStale(): void {
		this.#sql.exec('DELETE FROM vector WHERE version NOT IN (SELECT version FROM memory)');
	}

	/** Ignores versions that no longer exist. */
	keep(model: string, vectors: readonly MemoryVector[]): void {
		for (const { version, vector } of vectors)
			this.#sql.exec(
				`INSERT OR REPLACE INTO vector (version, model, value) SELECT version, ?, ? FROM memory WHERE version = ?`,
				model,
				Float32Array.from(vector).buffer,
				version,
			);
	}

	/** Ranks paths by the cosine of their vectors, the nearest first. */
	rank(model: string, query: readonly number[]): readonly string[] {
		const rows = this.#sql.exec<VectorRow>(
			'SELECT path, value FROM memory JOIN vector ON vector.version = memory.version WHERE model = ?',
			model,
		);
		const scored = [...rows].map(({ path, value }) => ({
			path,
			cosine: computeCosine(query, new Float32Array(value)),
		}));
		const nearest = Math.max(0, ...scored.map(({ cosine }) => cosine));
		return scored
			.filter(({ cosine }) => cosine >= Math.max(leastCosine, nearest * leastShare))
			.sort((a, b) => b.cosine - a.cosine)
			.map(({ path }) => path);
	}
}

/** Returns 0 if the vectors have different dimensions, or if one of them is zero. */
function computeCosine(a: readonly number[], b: Float32Array): number {
	if (a.length !== b.length) return 0;
	let [product, ofA, ofB] = [0, 0, 0];
	for (const [index, value] of a.entries()) {
		const other = b[index] ?? 0;
		product += value * other;
		ofA += value * value;
		ofB += other * other;
	}
	return ofA === 0 || ofB === 0 ? 0 : product / Math.sqrt(ofA * ofB);
}

import type { DurableObjectStorage } from '@cloudflare/workers-types';
import type { MemoryRecord, MemoryVector } from './api.ts';

/** A memory that is much further away than the nearest one, or at all, has nothing to do with what is looked for. */
const [leastShare, leastCosine] = [0.75, 0.2];

type VectorRow = { path: string; value: ArrayBuffer };

/** The vectors of memories. One counts as long as its memory has the version that it was made of. */
export class MemoryVectors {
	readonly #sql: DurableObjectStorage['sql'];

	constructor(sql: DurableObjectStorage['sql']) {
		this.#sql = sql;
	}

	/** Lists memories without a vector of a model, the newest first. */
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

	/** Drops the vectors of versions that are not there any more. */
	dropStale(): void {
		this.#sql.exec('DELETE FROM vector WHERE version NOT IN (SELECT version FROM memory)');
	}

	/** Keeps the vectors of versions that are still there. */
	keep(model: string, vectors: readonly MemoryVector[]): void {
		for (const { version, vector } of vectors)
			this.#sql.exec(
				`INSERT OR REPLACE INTO vector (version, model, value) SELECT version, ?, ? FROM memory WHERE version = ?`,
				model,
				Float32Array.from(vector).buffer,
				version,
			);
	}

	/** Ranks the paths of memories by their nearness to a vector, the nearest first. */
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

/** Returns the cosine of two vectors; 0 if one of them is of another length, or says nothing. */
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

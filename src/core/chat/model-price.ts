/** What a model costs you, in US dollars for a million tokens. */
export interface ModelPrice {
	readonly input: number;
	readonly output: number;
	/** Input out of a cache. The default is the price of input. */
	readonly cachedInput?: number;
	/** Input that is written to a cache. The default is the price of input. */
	readonly cacheWrite?: number;
	/** US dollars for one of each unit: `{ web_searches: 0.01 }`. */
	readonly units?: Readonly<Record<string, number>>;
}

/** The prices of models by their names. A `*` at the end of a name stands for any rest. */
export type ModelPrices = Readonly<Record<string, ModelPrice>>;

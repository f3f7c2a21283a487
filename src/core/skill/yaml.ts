/** The used part of `yaml`, as a module of its own: it reads, and writes nothing. The package holds a copy (scripts/pack/copies.ts). */
export { isMap, isScalar, LineCounter, type ParsedNode, parseDocument, visit, type YAMLMap } from 'yaml';

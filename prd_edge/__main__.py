from prd_edge.cli import main

main()
